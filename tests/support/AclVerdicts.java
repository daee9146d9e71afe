// What Apache Kafka says about ACLs: one question per line, an array of JSON, and one answer per line (see
// `tests/security/test_same_authorizer.py`). Started from source: `java -cp <jars> AclVerdicts.java`.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AccessControlEntryFilter;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.errors.InvalidRequestException;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourcePatternFilter;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.security.authorizer.AclEntry;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;

public class AclVerdicts {
    private record Caller(KafkaPrincipal principal, InetAddress clientAddress) implements AuthorizableRequestContext {
        @Override
        public String listenerName() {
            return "PLAINTEXT";
        }

        @Override
        public SecurityProtocol securityProtocol() {
            return SecurityProtocol.PLAINTEXT;
        }

        @Override
        public int requestType() {
            return 1;
        }

        @Override
        public int requestVersion() {
            return 0;
        }

        @Override
        public String clientId() {
            return "";
        }

        @Override
        public int correlationId() {
            return 0;
        }
    }

    private final StandardAuthorizer authorizer = new StandardAuthorizer();
    private final Map<StandardAcl, Uuid> ids = new HashMap<>();

    private AclVerdicts() {
        authorizer.withPluginMetrics(new PluginMetricsImpl(new Metrics(), Map.of()));
        authorizer.completeInitialLoad();
    }

    public static void main(String[] arguments) throws Exception {
        // Standard output carries the answers only.
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err);
        ObjectMapper json = new ObjectMapper();
        AclVerdicts verdicts = new AclVerdicts();
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line;
        while ((line = questions.readLine()) != null) {
            JsonNode question = json.readTree(line);
            answers.println(json.writeValueAsString(verdicts.answer(question.get(0).asText(), question)));
        }
        answers.flush();
    }

    private Object answer(String kind, JsonNode asked) throws Exception {
        return switch (kind) {
            case "settings" -> settings(asked.get(1).asText(), asked.get(2).asBoolean());
            case "snapshot" -> snapshot(asked.get(1));
            case "add" -> add(acl(asked.get(1)));
            case "remove" -> remove(acl(asked.get(1)));
            case "authorize" -> allows(caller(asked), operation(asked.get(4)), resourceType(asked.get(5)), text(asked.get(6)));
            case "by type" -> authorizer.authorizeByResourceType(caller(asked), operation(asked.get(4)),
                resourceType(asked.get(5))) == AuthorizationResult.ALLOWED;
            case "operations" -> operations(caller(asked), resourceType(asked.get(4)), text(asked.get(5)));
            case "matches" -> filter(asked.get(1)).matches(acl(asked.get(2)).toBinding());
            case "may be created" -> mayBeCreated(asked.get(1));
            case "may delete" -> accepted("validateFilter", AclBindingFilter.class, filter(asked.get(1)));
            case "rule" -> "MatchingAcl(acl=" + acl(asked.get(1)) + ")";
            case "host" -> InetAddress.getByName(asked.get(1).asText()).getHostAddress();
            case "super users" -> superUsers(asked.get(1).asText());
            case "codes" -> codes();
            default -> throw new IllegalArgumentException(kind);
        };
    }

    private String settings(String superUsers, boolean allowEveryone) {
        authorizer.configure(Map.of(
            StandardAuthorizer.SUPER_USERS_CONFIG, superUsers,
            StandardAuthorizer.ALLOW_EVERYONE_IF_NO_ACL_IS_FOUND_CONFIG, allowEveryone));
        return "ok";
    }

    private int snapshot(JsonNode acls) {
        ids.clear();
        Map<Uuid, StandardAcl> byId = new HashMap<>();
        for (JsonNode each : acls) {
            Uuid id = Uuid.randomUuid();
            byId.put(id, acl(each));
            ids.put(acl(each), id);
        }
        authorizer.loadSnapshot(byId);
        return authorizer.aclCount();
    }

    private int add(StandardAcl acl) {
        Uuid id = Uuid.randomUuid();
        ids.put(acl, id);
        authorizer.addAcl(id, acl);
        return authorizer.aclCount();
    }

    private int remove(StandardAcl acl) {
        authorizer.removeAcl(ids.remove(acl));
        return authorizer.aclCount();
    }

    private boolean allows(Caller caller, AclOperation operation, ResourceType type, String name) {
        ResourcePattern resource = new ResourcePattern(type, name, PatternType.LITERAL);
        List<Action> actions = List.of(new Action(operation, resource, 1, true, true));
        return authorizer.authorize(caller, actions).get(0) == AuthorizationResult.ALLOWED;
    }

    private int operations(Caller caller, ResourceType type, String name) {
        Set<Byte> allowed = new HashSet<>();
        for (AclOperation operation : AclEntry.supportedOperations(type)) {
            if (allows(caller, operation, type, name)) {
                allowed.add(operation.code());
            }
        }
        return Utils.to32BitField(allowed);
    }

    private static boolean mayBeCreated(JsonNode asked) throws Exception {
        AclBinding binding;
        try {
            binding = new AclBinding(
                new ResourcePattern(resourceType(asked.get(0)), text(asked.get(1)), patternType(asked.get(2))),
                new AccessControlEntry(text(asked.get(3)), text(asked.get(4)), operation(asked.get(5)),
                    permissionType(asked.get(6))));
        } catch (IllegalArgumentException error) {
            // Such a binding cannot even be made, so that the request with it fails as a whole.
            return false;
        }
        // What the controller's handler of the request refuses before it asks the authorizer.
        boolean wrongCluster = binding.pattern().resourceType() == ResourceType.CLUSTER
            && !binding.pattern().name().equals("kafka-cluster");
        return !wrongCluster && accepted("validateNewAcl", AclBinding.class, binding);
    }

    private static boolean accepted(String check, Class<?> type, Object value) throws Exception {
        Method method = Class.forName("org.apache.kafka.controller.AclControlManager").getDeclaredMethod(check, type);
        method.setAccessible(true);
        try {
            method.invoke(null, value);
            return true;
        } catch (InvocationTargetException error) {
            if (error.getCause() instanceof InvalidRequestException) {
                return false;
            }
            throw error;
        }
    }

    private static Object superUsers(String value) throws Exception {
        Method method = StandardAuthorizer.class.getDeclaredMethod("getConfiguredSuperUsers", Map.class);
        method.setAccessible(true);
        try {
            return new TreeSet<>((Set<?>) method.invoke(null, Map.of(StandardAuthorizer.SUPER_USERS_CONFIG, value)));
        } catch (InvocationTargetException error) {
            return "refused";
        }
    }

    private static Map<String, Map<String, Integer>> codes() {
        Map<String, Map<String, Integer>> codes = new HashMap<>();
        for (ResourceType each : ResourceType.values()) {
            codes.computeIfAbsent("resource types", name -> new HashMap<>()).put(each.name(), (int) each.code());
            if (each != ResourceType.UNKNOWN && each != ResourceType.ANY) {
                Set<Byte> supported = new HashSet<>();
                AclEntry.supportedOperations(each).forEach(operation -> supported.add(operation.code()));
                codes.computeIfAbsent("supported", name -> new HashMap<>())
                    .put(each.name(), Utils.to32BitField(supported));
            }
            if (each != ResourceType.UNKNOWN && each != ResourceType.ANY && each != ResourceType.USER) {
                codes.computeIfAbsent("errors", name -> new HashMap<>())
                    .put(each.name(), (int) AclEntry.authorizationError(each).code());
            }
        }
        for (PatternType each : PatternType.values()) {
            codes.computeIfAbsent("pattern types", name -> new HashMap<>()).put(each.name(), (int) each.code());
        }
        for (AclOperation each : AclOperation.values()) {
            codes.computeIfAbsent("operations", name -> new HashMap<>()).put(each.name(), (int) each.code());
        }
        for (AclPermissionType each : AclPermissionType.values()) {
            codes.computeIfAbsent("permission types", name -> new HashMap<>()).put(each.name(), (int) each.code());
        }
        return codes;
    }

    private static Caller caller(JsonNode asked) throws Exception {
        KafkaPrincipal principal = new KafkaPrincipal(asked.get(1).asText(), asked.get(2).asText());
        return new Caller(principal, InetAddress.getByName(asked.get(3).asText()));
    }

    private static StandardAcl acl(JsonNode asked) {
        return new StandardAcl(resourceType(asked.get(0)), text(asked.get(1)), patternType(asked.get(2)), text(asked.get(3)),
            text(asked.get(4)), operation(asked.get(5)), permissionType(asked.get(6)));
    }

    private static AclBindingFilter filter(JsonNode asked) {
        return new AclBindingFilter(
            new ResourcePatternFilter(resourceType(asked.get(0)), text(asked.get(1)), patternType(asked.get(2))),
            new AccessControlEntryFilter(text(asked.get(3)), text(asked.get(4)), operation(asked.get(5)),
                permissionType(asked.get(6))));
    }

    private static String text(JsonNode asked) {
        return asked.isNull() ? null : asked.asText();
    }

    private static ResourceType resourceType(JsonNode asked) {
        return ResourceType.fromCode((byte) asked.asInt());
    }

    private static PatternType patternType(JsonNode asked) {
        return PatternType.fromCode((byte) asked.asInt());
    }

    private static AclOperation operation(JsonNode asked) {
        return AclOperation.fromCode((byte) asked.asInt());
    }

    private static AclPermissionType permissionType(JsonNode asked) {
        return AclPermissionType.fromCode((byte) asked.asInt());
    }
}
