// What Apache Kafka says about authentication: one question per line, an array of JSON, and one answer per line (see
// `tests/security/test_same_authentication.py`). Bytes are hexadecimal. An answer is ["yes", ...] with what was read, or
// ["no", exception, text]. Started from source: `java -cp <jars> AuthenticationVerdicts.java`.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import javax.security.auth.Subject;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.CallbackHandler;
import javax.security.auth.callback.NameCallback;
import javax.security.auth.callback.PasswordCallback;
import javax.security.auth.login.AppConfigurationEntry;
import javax.security.auth.login.AppConfigurationEntry.LoginModuleControlFlag;
import javax.security.auth.login.Configuration;
import javax.security.auth.x500.X500Principal;
import javax.security.sasl.SaslClient;
import javax.security.sasl.SaslServer;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.message.ApiVersionsResponseData;
import org.apache.kafka.common.network.ChannelMetadataRegistry;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.network.NetworkReceive;
import org.apache.kafka.common.network.ReauthenticationContext;
import org.apache.kafka.common.network.TransportLayer;
import org.apache.kafka.common.requests.ApiVersionsResponse;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.security.authenticator.CredentialCache;
import org.apache.kafka.common.security.authenticator.SaslServerAuthenticator;
import org.apache.kafka.common.security.oauthbearer.BrokerJwtValidator;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerToken;
import org.apache.kafka.common.security.oauthbearer.internals.OAuthBearerClientInitialResponse;
import org.apache.kafka.common.security.oauthbearer.internals.OAuthBearerSaslServer;
import org.apache.kafka.common.security.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler;
import org.apache.kafka.common.security.plain.PlainLoginModule;
import org.apache.kafka.common.security.plain.internals.PlainSaslServer;
import org.apache.kafka.common.security.plain.internals.PlainServerCallbackHandler;
import org.apache.kafka.common.security.scram.ScramCredential;
import org.apache.kafka.common.security.scram.ScramCredentialCallback;
import org.apache.kafka.common.security.scram.ScramExtensionsCallback;
import org.apache.kafka.common.security.scram.internals.ScramFormatter;
import org.apache.kafka.common.security.scram.internals.ScramMechanism;
import org.apache.kafka.common.security.scram.internals.ScramMessages;
import org.apache.kafka.common.security.scram.internals.ScramSaslClient;
import org.apache.kafka.common.security.scram.internals.ScramSaslServer;
import org.apache.kafka.common.security.scram.internals.ScramServerCallbackHandler;
import org.apache.kafka.common.security.ssl.SslPrincipalMapper;
import org.apache.kafka.common.security.token.delegation.internals.DelegationTokenCache;
import org.apache.kafka.common.security.token.delegation.internals.DelegationTokenCredentialCallback;
import org.apache.kafka.common.utils.Time;

public class AuthenticationVerdicts {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final HexFormat HEX = HexFormat.of();

    // The exchanges that are under way, by their names.
    private static final Map<String, SaslServer> SERVERS = new HashMap<>();
    private static final Map<String, SaslClient> CLIENTS = new HashMap<>();
    private static final Map<String, Session> SESSIONS = new HashMap<>();
    private static BrokerJwtValidator jwtValidator;

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        // Whatever Kafka writes there is not an answer.
        System.setOut(System.err);
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            List<String> answer;
            try {
                answer = answer(JSON.readTree(line));
            } catch (Throwable problem) {
                Throwable cause = problem instanceof InvocationTargetException ? problem.getCause() : problem;
                answer = List.of("no", cause.getClass().getSimpleName(), String.valueOf(cause.getMessage()));
            }
            answers.println(JSON.writeValueAsString(answer));
        }
    }

    private static List<String> answer(JsonNode question) throws Exception {
        switch (question.get(0).asText()) {
            case "jaas": return jaas(text(question, 1));
            case "subject": return List.of("yes", new X500Principal(bytes(question, 1)).getName());
            case "mapping": return mapping(text(question, 1), text(question, 2));
            case "client-first": return clientFirst(bytes(question, 1));
            case "server-first": return serverFirst(bytes(question, 1));
            case "client-final": return clientFinal(bytes(question, 1));
            case "server-final": return serverFinal(bytes(question, 1));
            case "plain": return plain(question.get(1), bytes(question, 2));
            case "bearer-first": return bearerFirst(bytes(question, 1));
            case "unsecured": return unsecured(question.get(1), bytes(question, 2), question.get(3).asLong());
            case "credential": return credential(question);
            case "scram-server": return scramServer(question);
            case "scram-client": return scramClient(question);
            case "server-token": return serverToken(text(question, 1), bytes(question, 2));
            case "client-token": return clientToken(text(question, 1), bytes(question, 2));
            case "jwt-validator": return jwtValidator(question.get(1));
            case "jwt": return jwt(text(question, 1));
            case "session": SESSIONS.put(text(question, 1), new Session(question)); return List.of("yes");
            case "frame": return SESSIONS.get(text(question, 1)).frame(bytes(question, 2), question.get(3).asLong());
            case "renewal": return SESSIONS.get(text(question, 1)).renewal(bytes(question, 2), question.get(3).asLong());
            default: throw new IllegalArgumentException("an unknown question");
        }
    }

    private static List<String> jaas(String text) throws Exception {
        Constructor<?> constructor =
            Class.forName("org.apache.kafka.common.security.JaasConfig").getConstructor(String.class, String.class);
        constructor.setAccessible(true);
        Configuration configuration = (Configuration) constructor.newInstance("name", text);
        List<String> answer = new ArrayList<>(List.of("yes"));
        for (AppConfigurationEntry entry : configuration.getAppConfigurationEntry("name")) {
            Map<String, String> options = new TreeMap<>();
            for (Map.Entry<String, ?> option : entry.getOptions().entrySet())
                options.put(option.getKey() == null ? "\0without a name" : option.getKey(), (String) option.getValue());
            answer.add(entry.getLoginModuleName());
            answer.add(flagName(entry.getControlFlag()));
            answer.add(JSON.writeValueAsString(options));
        }
        return answer;
    }

    private static String flagName(LoginModuleControlFlag flag) {
        if (flag == LoginModuleControlFlag.REQUIRED) return "REQUIRED";
        if (flag == LoginModuleControlFlag.REQUISITE) return "REQUISITE";
        return flag == LoginModuleControlFlag.SUFFICIENT ? "SUFFICIENT" : "OPTIONAL";
    }

    // Wrong rules are "no"; of right ones, what they make of the name.
    private static List<String> mapping(String rules, String name) {
        SslPrincipalMapper mapper = SslPrincipalMapper.fromRules(rules);
        try {
            return List.of("yes", "mapped", mapper.getName(name));
        } catch (SslPrincipalMapper.NoMatchingRule none) {
            return List.of("yes", "unmapped");
        } catch (Exception problem) {
            return List.of("yes", "failed", problem.getClass().getSimpleName());
        }
    }

    private static List<String> clientFirst(byte[] token) throws Exception {
        ScramMessages.ClientFirstMessage message = new ScramMessages.ClientFirstMessage(token);
        String extensions = JSON.writeValueAsString(new TreeMap<>(message.extensions().map()));
        return List.of("yes", message.authorizationId(), message.saslName(), message.nonce(), extensions);
    }

    private static List<String> serverFirst(byte[] token) throws Exception {
        ScramMessages.ServerFirstMessage message = new ScramMessages.ServerFirstMessage(token);
        return List.of("yes", message.nonce(), HEX.formatHex(message.salt()), String.valueOf(message.iterations()));
    }

    private static List<String> clientFinal(byte[] token) throws Exception {
        ScramMessages.ClientFinalMessage message = new ScramMessages.ClientFinalMessage(token);
        return List.of(
            "yes", HEX.formatHex(message.channelBinding()), message.nonce(), HEX.formatHex(message.proof()));
    }

    private static List<String> serverFinal(byte[] token) throws Exception {
        ScramMessages.ServerFinalMessage message = new ScramMessages.ServerFinalMessage(token);
        if (message.error() != null)
            return List.of("yes", "error", message.error());
        return List.of("yes", "signature", HEX.formatHex(message.serverSignature()));
    }

    private static PlainServerCallbackHandler plainHandler(JsonNode users) {
        Map<String, String> options = new HashMap<>();
        users.properties().forEach(user -> options.put("user_" + user.getKey(), user.getValue().asText()));
        PlainServerCallbackHandler handler = new PlainServerCallbackHandler();
        handler.configure(Map.of(), "PLAIN", List.of(new AppConfigurationEntry(
            PlainLoginModule.class.getName(), LoginModuleControlFlag.REQUIRED, options)));
        return handler;
    }

    private static List<String> plain(JsonNode users, byte[] token) {
        PlainSaslServer server = new PlainSaslServer(plainHandler(users));
        server.evaluateResponse(token);
        return List.of("yes", server.getAuthorizationID());
    }

    private static List<String> bearerFirst(byte[] token) throws Exception {
        OAuthBearerClientInitialResponse message = new OAuthBearerClientInitialResponse(token);
        String extensions = JSON.writeValueAsString(new TreeMap<>(message.extensions().map()));
        return List.of("yes", message.authorizationId(), message.tokenValue(), extensions);
    }

    private static OAuthBearerUnsecuredValidatorCallbackHandler unsecuredHandler(Map<String, String> options, Time time)
            throws Exception {
        OAuthBearerUnsecuredValidatorCallbackHandler handler = new OAuthBearerUnsecuredValidatorCallbackHandler();
        handler.configure(Map.of(), "OAUTHBEARER", List.of(
            new AppConfigurationEntry("module", LoginModuleControlFlag.REQUIRED, options)));
        Method setter = handler.getClass().getDeclaredMethod("time", Time.class);
        setter.setAccessible(true);
        setter.invoke(handler, time);
        return handler;
    }

    // The first step of a server with unsecured tokens, at a given time.
    private static List<String> unsecured(JsonNode options, byte[] token, long nowMs) throws Exception {
        Map<String, String> written = new HashMap<>();
        options.properties().forEach(option -> written.put(option.getKey(), option.getValue().asText()));
        Time time = (Time) Proxy.newProxyInstance(
            Time.class.getClassLoader(), new Class<?>[] {Time.class}, (proxy, method, values) -> nowMs);
        OAuthBearerUnsecuredValidatorCallbackHandler handler = unsecuredHandler(written, time);
        OAuthBearerSaslServer server = new OAuthBearerSaslServer(handler);
        byte[] answer = server.evaluateResponse(token);
        if (!server.isComplete())
            return List.of("yes", "refused", new String(answer, StandardCharsets.UTF_8));
        OAuthBearerToken found = (OAuthBearerToken) server.getNegotiatedProperty("OAUTHBEARER.token");
        return List.of(
            "yes", "accepted", found.principalName(), JSON.writeValueAsString(found.scope().stream().sorted().toList()),
            String.valueOf(found.lifetimeMs()), String.valueOf(found.startTimeMs()));
    }

    // ["credential", mechanism, password, salt, iterations]
    private static List<String> credential(JsonNode question) throws Exception {
        ScramFormatter formatter = new ScramFormatter(ScramMechanism.forMechanismName(text(question, 1)));
        int iterations = question.get(4).asInt();
        byte[] salt = bytes(question, 3);
        byte[] salted = formatter.saltedPassword(text(question, 2), salt, iterations);
        ScramCredential made = formatter.generateCredential(salt, salted, iterations);
        return List.of("yes", HEX.formatHex(made.storedKey()), HEX.formatHex(made.serverKey()));
    }

    // ["scram-server", exchange, mechanism, user, salt, stored key, server key, iterations, owner of the token or null]
    private static List<String> scramServer(JsonNode question) throws Exception {
        String user = text(question, 3);
        String owner = question.get(8).isNull() ? null : text(question, 8);
        ScramCredential credential = new ScramCredential(
            bytes(question, 4), bytes(question, 5), bytes(question, 6), question.get(7).asInt());
        CallbackHandler handler = callbacks -> {
            String asked = null;
            for (Callback callback : callbacks) {
                if (callback instanceof NameCallback) {
                    asked = ((NameCallback) callback).getDefaultName();
                } else if (callback instanceof DelegationTokenCredentialCallback) {
                    if (owner != null && user.equals(asked)) {
                        DelegationTokenCredentialCallback token = (DelegationTokenCredentialCallback) callback;
                        token.scramCredential(credential);
                        token.tokenOwner(owner);
                        token.tokenExpiryTimestamp(1L);
                    }
                } else if (owner == null && user.equals(asked)) {
                    ((ScramCredentialCallback) callback).scramCredential(credential);
                }
            }
        };
        SERVERS.put(text(question, 1), new ScramSaslServer(
            ScramMechanism.forMechanismName(text(question, 2)), Map.of(), handler));
        return List.of("yes");
    }

    // ["scram-client", exchange, mechanism, user, password, whether the credential is a delegation token]
    private static List<String> scramClient(JsonNode question) throws Exception {
        CallbackHandler handler = callbacks -> {
            for (Callback callback : callbacks) {
                if (callback instanceof NameCallback)
                    ((NameCallback) callback).setName(text(question, 3));
                else if (callback instanceof PasswordCallback)
                    ((PasswordCallback) callback).setPassword(text(question, 4).toCharArray());
                else if (callback instanceof ScramExtensionsCallback && question.get(5).asBoolean())
                    ((ScramExtensionsCallback) callback).extensions(Map.of("tokenauth", "true"));
            }
        };
        SaslClient client = new ScramSaslClient(ScramMechanism.forMechanismName(text(question, 2)), handler);
        CLIENTS.put(text(question, 1), client);
        return List.of("yes", HEX.formatHex(client.evaluateChallenge(new byte[0])));
    }

    private static List<String> serverToken(String exchange, byte[] token) throws Exception {
        SaslServer server = SERVERS.get(exchange);
        byte[] answer = server.evaluateResponse(token);
        return List.of("yes", HEX.formatHex(answer), server.isComplete() ? server.getAuthorizationID() : "");
    }

    private static List<String> clientToken(String exchange, byte[] token) throws Exception {
        SaslClient client = CLIENTS.get(exchange);
        byte[] answer = client.evaluateChallenge(token);
        return List.of("yes", answer == null ? "" : HEX.formatHex(answer), client.isComplete() ? "complete" : "");
    }

    // ["jwt-validator", {"url": ..., "audiences": [...], "issuer": ..., "skew": ..., "scope": ..., "sub": ...}]
    private static List<String> jwtValidator(JsonNode settings) {
        String url = settings.get("url").asText();
        System.setProperty("org.apache.kafka.sasl.oauthbearer.allowed.urls", url);
        System.setProperty("org.apache.kafka.sasl.oauthbearer.allowed.files", url.substring("file://".length()));
        List<String> audiences = new ArrayList<>();
        settings.get("audiences").forEach(audience -> audiences.add(audience.asText()));
        Map<String, Object> configs = new HashMap<>();
        configs.put("sasl.oauthbearer.jwks.endpoint.url", url);
        configs.put("sasl.oauthbearer.expected.audience", audiences);
        if (!settings.get("issuer").isNull())
            configs.put("sasl.oauthbearer.expected.issuer", settings.get("issuer").asText());
        configs.put("sasl.oauthbearer.clock.skew.seconds", settings.get("skew").asInt());
        configs.put("sasl.oauthbearer.scope.claim.name", settings.get("scope").asText());
        configs.put("sasl.oauthbearer.sub.claim.name", settings.get("sub").asText());
        jwtValidator = new BrokerJwtValidator();
        jwtValidator.configure(configs, "OAUTHBEARER", List.of(
            new AppConfigurationEntry("module", LoginModuleControlFlag.REQUIRED, Map.of())));
        return List.of("yes");
    }

    private static List<String> jwt(String token) throws Exception {
        OAuthBearerToken found = jwtValidator.validate(token);
        return List.of(
            "yes", found.principalName(), JSON.writeValueAsString(found.scope().stream().sorted().toList()),
            String.valueOf(found.lifetimeMs()), String.valueOf(found.startTimeMs()));
    }

    // One connection of a SASL listener, as the selector drives it. An answer says how it goes on ("open", "delayed": to
    // be closed after the delay, "closed"), with which exception, what was written, and the principal and the end of the
    // session once there is one.
    private static final class Session {
        private final ByteArrayOutputStream written = new ByteArrayOutputStream();
        private final Map<String, Object> configs;
        private final Map<String, AuthenticateCallbackHandler> handlers = new HashMap<>();
        private final Map<String, Subject> subjects = new HashMap<>();
        private final Map<String, Long> longest = new HashMap<>();
        private final SocketChannel channel;
        private ByteBuffer input = ByteBuffer.allocate(0);
        private long nowMs;
        private SaslServerAuthenticator authenticator;

        // ["session", name, users of PLAIN, user of SCRAM, salt, stored key, server key, iterations, reauthentication]
        Session(JsonNode question) throws Exception {
            Class.forName(PlainLoginModule.class.getName());
            Class.forName("org.apache.kafka.common.security.scram.ScramLoginModule");
            Class.forName("org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule");
            handlers.put("PLAIN", plainHandler(question.get(2)));
            handlers.put("OAUTHBEARER", unsecuredHandler(Map.of(), time()));
            CredentialCache.Cache<ScramCredential> cache =
                new CredentialCache().createCache("SCRAM-SHA-256", ScramCredential.class);
            cache.put(text(question, 3), new ScramCredential(
                bytes(question, 4), bytes(question, 5), bytes(question, 6), question.get(7).asInt()));
            handlers.put("SCRAM-SHA-256",
                new ScramServerCallbackHandler(cache, new DelegationTokenCache(List.of("SCRAM-SHA-256"))));
            for (String mechanism : handlers.keySet()) {
                subjects.put(mechanism, new Subject());
                longest.put(mechanism, question.get(8).asLong());
            }
            configs = Map.of("sasl.enabled.mechanisms", List.copyOf(handlers.keySet()));
            channel = LOOPBACK;
            authenticator = newAuthenticator();
        }

        private Time time() {
            return (Time) Proxy.newProxyInstance(Time.class.getClassLoader(), new Class<?>[] {Time.class},
                (proxy, method, values) -> method.getName().equals("nanoseconds") ? nowMs * 1_000_000 : nowMs);
        }

        private SaslServerAuthenticator newAuthenticator() {
            TransportLayer transport = (TransportLayer) Proxy.newProxyInstance(
                TransportLayer.class.getClassLoader(), new Class<?>[] {TransportLayer.class}, this::transport);
            ChannelMetadataRegistry registry = (ChannelMetadataRegistry) Proxy.newProxyInstance(
                TransportLayer.class.getClassLoader(), new Class<?>[] {ChannelMetadataRegistry.class},
                (proxy, method, values) -> null);
            return new SaslServerAuthenticator(
                configs, handlers, "connection", subjects, null, new ListenerName("SASL"),
                SecurityProtocol.SASL_PLAINTEXT, transport, longest, registry, time(),
                version -> new ApiVersionsResponse(new ApiVersionsResponseData()));
        }

        private Object transport(Object proxy, Method method, Object[] values) {
            switch (method.getName()) {
                case "read":
                    ByteBuffer target = (ByteBuffer) values[0];
                    int count = Math.min(target.remaining(), input.remaining());
                    for (int each = 0; each < count; each++)
                        target.put(input.get());
                    return count;
                case "write":
                    long total = 0;
                    for (ByteBuffer buffer : (ByteBuffer[]) values[0])
                        for (; buffer.hasRemaining(); total++)
                            written.write(buffer.get());
                    return total;
                case "socketChannel": return channel;
                case "hasPendingWrites": return false;
                default: return null;
            }
        }

        List<String> frame(byte[] payload, long now) {
            nowMs = now;
            input = ByteBuffer.allocate(4 + payload.length).putInt(payload.length).put(payload).flip();
            try {
                authenticator.authenticate();
                return outcome("open", "");
            } catch (AuthenticationException failure) {
                try {
                    authenticator.handleAuthenticationFailure();
                } catch (IOException problem) {
                    return outcome("closed", problem.getClass().getSimpleName());
                }
                return outcome("delayed", failure.getClass().getSimpleName());
            } catch (Exception failure) {
                return outcome("closed", failure.getClass().getSimpleName());
            }
        }

        List<String> renewal(byte[] payload, long now) {
            nowMs = now;
            SaslServerAuthenticator previous = authenticator;
            authenticator = newAuthenticator();
            try {
                authenticator.reauthenticate(new ReauthenticationContext(
                    previous, new NetworkReceive("connection", ByteBuffer.wrap(payload)), now * 1_000_000));
                return outcome("open", "");
            } catch (Exception failure) {
                return outcome("closed", failure.getClass().getSimpleName());
            }
        }

        private List<String> outcome(String state, String exception) {
            String output = HEX.formatHex(written.toByteArray());
            written.reset();
            boolean complete = state.equals("open") && authenticator.complete();
            String principal = complete ? authenticator.principal().toString() : "";
            return List.of("yes", state, exception, output, principal,
                complete ? String.valueOf(authenticator.serverSessionExpirationTimeNanos()) : "");
        }
    }

    private static final SocketChannel LOOPBACK = loopback();

    private static SocketChannel loopback() {
        try {
            ServerSocketChannel server = ServerSocketChannel.open();
            server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            return SocketChannel.open(server.getLocalAddress());
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
    }

    private static String text(JsonNode question, int index) {
        return question.get(index).asText();
    }

    private static byte[] bytes(JsonNode question, int index) {
        return HEX.parseHex(text(question, index));
    }
}
