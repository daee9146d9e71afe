import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.yammer.metrics.core.Meter;
import com.yammer.metrics.core.MetricsRegistry;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import kafka.network.ConnectionQuotas;
import kafka.server.ClientRequestQuotaManager;
import kafka.server.KafkaConfig;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.errors.ThrottlingQuotaExceededException;
import org.apache.kafka.common.message.DescribeClientQuotasRequestData;
import org.apache.kafka.common.message.DescribeClientQuotasResponseData;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MetricConfig;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.Quota;
import org.apache.kafka.common.metrics.QuotaViolationException;
import org.apache.kafka.common.metrics.Sensor;
import org.apache.kafka.common.metrics.stats.Rate;
import org.apache.kafka.common.metrics.stats.TokenBucket;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.requests.ApiError;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.image.ClientQuotaImage;
import org.apache.kafka.image.ClientQuotasImage;
import org.apache.kafka.network.ConnectionThrottledException;
import org.apache.kafka.network.Session;
import org.apache.kafka.network.TooManyConnectionsException;
import org.apache.kafka.server.config.ClientQuotaManagerConfig;
import org.apache.kafka.server.quota.ClientQuotaManager;
import org.apache.kafka.server.quota.ControllerMutationQuota;
import org.apache.kafka.server.quota.PermissiveControllerMutationQuota;
import org.apache.kafka.server.quota.QuotaType;
import org.apache.kafka.server.quota.QuotaUtils;
import org.apache.kafka.server.quota.StrictControllerMutationQuota;
import org.apache.kafka.server.util.Csv;

/**
 * What Apache Kafka's own classes compute of quotas. The first argument says which of them; each line of the input is a
 * case in JSON, and each line of the output what Kafka says to it. The clock stands still unless a case moves it.
 */
public class KafkaQuotas {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** Moved by the cases only. */
    static final class Clock implements Time {
        volatile long now;
        final AtomicLong asked = new AtomicLong();

        @Override
        public long milliseconds() {
            asked.incrementAndGet();
            return now;
        }

        @Override
        public long nanoseconds() {
            return now * 1_000_000;
        }

        @Override
        public void sleep(long ms) {
            throw new IllegalStateException("nobody sleeps here");
        }

        @Override
        public void waitObject(Object lock, Supplier<Boolean> condition, long deadlineMs) {
            throw new IllegalStateException("nobody waits here");
        }
    }

    interface Case {
        Object answer(JsonNode line) throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        Case answers = switch (arguments[0]) {
            case "rates" -> KafkaQuotas::rates;
            case "buckets" -> KafkaQuotas::buckets;
            case "clients" -> KafkaQuotas::clients;
            case "alterations" -> KafkaQuotas::alterations;
            case "filters" -> KafkaQuotas::filters;
            case "connections" -> KafkaQuotas::connections;
            case "overrides" -> KafkaQuotas::overrides;
            default -> throw new IllegalArgumentException(arguments[0]);
        };
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintWriter output =
            new PrintWriter(new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8)));
        String line;
        while ((line = input.readLine()) != null)
            output.println(JSON.writeValueAsString(answers.answer(JSON.readTree(line))));
        output.flush();
        // The managers have threads of their own.
        System.exit(0);
    }

    private static String text(JsonNode node) {
        return node.isNull() ? null : node.asText();
    }

    private static MetricConfig config(JsonNode line, double quota) {
        return new MetricConfig()
            .samples(line.get("count").asInt())
            .timeWindow(line.get("seconds").asLong(), TimeUnit.SECONDS)
            .quota(Quota.upperBound(quota));
    }

    /** Steps are [now, operation, value]: record and check, record only, measure, or change the quota. */
    private static Object rates(JsonNode line) {
        Clock clock = new Clock();
        clock.now = line.get("start").asLong();
        Metrics metrics = new Metrics(new MetricConfig(), new ArrayList<>(), clock);
        Sensor sensor = metrics.sensor("rate");
        Rate rate = new Rate();
        sensor.add(metrics.metricName("rate", "test"), rate, config(line, line.get("quota").asDouble()));
        KafkaMetric metric = metrics.metric(metrics.metricName("rate", "test"));
        List<Object> answers = new ArrayList<>();
        for (JsonNode step : line.get("steps")) {
            clock.now = step.get(0).asLong();
            double value = step.get(2).asDouble();
            switch (step.get(1).asText()) {
                case "check" -> {
                    long throttle = 0;
                    long bounded = 0;
                    try {
                        sensor.record(value, clock.now, true);
                    } catch (QuotaViolationException violation) {
                        throttle = QuotaUtils.throttleTime(violation, clock.now);
                        bounded = QuotaUtils.boundedThrottleTime(violation, 1000, clock.now);
                    }
                    answers.add(List.of(throttle, bounded));
                }
                case "record" -> {
                    sensor.record(value, clock.now, false);
                    answers.add(List.of());
                }
                case "measure" -> answers.add(
                    List.of(metric.measurable().measure(metric.config(), clock.now),
                        rate.windowSize(metric.config(), clock.now)));
                case "quota" -> {
                    metric.config(config(line, value));
                    answers.add(List.of());
                }
                default -> throw new IllegalArgumentException(step.toString());
            }
        }
        metrics.close();
        return answers;
    }

    /** Steps are [now, operation, value]: begin a request, take permits, ask for the throttle time or the tokens. */
    private static Object buckets(JsonNode line) {
        Clock clock = new Clock();
        clock.now = line.get("start").asLong();
        Metrics metrics = new Metrics(new MetricConfig(), new ArrayList<>(), clock);
        Sensor sensor = metrics.sensor("bucket");
        sensor.add(metrics.metricName("tokens", "test"), new TokenBucket(), config(line, line.get("quota").asDouble()));
        KafkaMetric metric = metrics.metric(metrics.metricName("tokens", "test"));
        ControllerMutationQuota quota = new StrictControllerMutationQuota(clock, sensor);
        List<Object> answers = new ArrayList<>();
        for (JsonNode step : line.get("steps")) {
            clock.now = step.get(0).asLong();
            JsonNode value = step.get(2);
            switch (step.get(1).asText()) {
                case "begin" -> {
                    quota = value.asText().equals("strict")
                        ? new StrictControllerMutationQuota(clock, sensor)
                        : new PermissiveControllerMutationQuota(clock, sensor);
                    answers.add(0);
                }
                case "take" -> {
                    boolean taken = true;
                    try {
                        quota.record(value.asDouble());
                    } catch (ThrottlingQuotaExceededException refused) {
                        taken = false;
                    }
                    answers.add(List.of(taken, quota.isExceeded()));
                }
                case "throttle" -> answers.add(quota.throttleTime());
                case "tokens" -> answers.add(metric.measurable().measure(metric.config(), clock.now));
                case "quota" -> {
                    metric.config(config(line, value.asDouble()));
                    answers.add(0);
                }
                default -> throw new IllegalArgumentException(step.toString());
            }
        }
        metrics.close();
        return answers;
    }

    /** Steps are [now, operation, user, client id, value], on a whole manager of one kind of quota. */
    private static Object clients(JsonNode line) throws Exception {
        Clock clock = new Clock();
        clock.now = line.get("start").asLong();
        Metrics metrics = new Metrics(new MetricConfig(), new ArrayList<>(), clock);
        ClientQuotaManagerConfig config =
            new ClientQuotaManagerConfig(line.get("count").asInt(), line.get("seconds").asInt());
        ClientQuotaManager manager = line.get("kind").asText().equals("request")
            ? new ClientRequestQuotaManager(config, metrics, clock, "", Optional.empty())
            : new ClientQuotaManager(config, metrics, QuotaType.PRODUCE, clock, "");
        List<Object> answers = new ArrayList<>();
        for (JsonNode step : line.get("steps")) {
            clock.now = step.get(0).asLong();
            String operation = step.get(1).asText();
            if (operation.equals("quota")) {
                manager.updateQuota(
                    user(step.get(2)),
                    clientId(step.get(3)),
                    Optional.ofNullable(step.get(4).isNull() ? null : Quota.upperBound(step.get(4).asDouble())));
                answers.add(manager.quotasEnabled());
                continue;
            }
            String name = step.get(2).asText();
            String id = step.get(3).asText();
            Session session = new Session(
                new KafkaPrincipal(KafkaPrincipal.USER_TYPE, name), InetAddress.getLoopbackAddress());
            double value = step.get(4).asDouble();
            switch (operation) {
                case "record" -> answers.add(manager.maybeRecordAndGetThrottleTimeMs(session, id, value, clock.now));
                case "unrecord" -> {
                    manager.unrecordQuotaSensor(session, id, value, clock.now);
                    answers.add(0);
                }
                case "look up" -> {
                    Map<String, String> tags = manager.getOrCreateQuotaSensors(session, id).metricTags();
                    boolean ofUser = !tags.get("user").isEmpty();
                    answers.add(Arrays.asList(
                        manager.quota(name, id).bound(),
                        ofUser ? name : "",
                        tags.get("client-id"),
                        Math.min(manager.maxValueInQuotaWindow(session, id), 1e300)));
                }
                default -> throw new IllegalArgumentException(step.toString());
            }
        }
        manager.shutdown();
        metrics.close();
        return answers;
    }

    /** Names are absent ([]), default (null), or a string. */
    private static Optional<org.apache.kafka.server.quota.ClientQuotaEntity.ConfigEntity> user(JsonNode name) {
        if (name.isArray())
            return Optional.empty();
        return Optional.of(name.isNull()
            ? ClientQuotaManager.DEFAULT_USER_ENTITY
            : new ClientQuotaManager.UserEntity(
                org.apache.kafka.common.utils.Sanitizer.sanitize(name.asText())));
    }

    private static Optional<org.apache.kafka.server.quota.ClientQuotaEntity.ConfigEntity> clientId(JsonNode name) {
        if (name.isArray())
            return Optional.empty();
        return Optional.of(name.isNull()
            ? ClientQuotaManager.DEFAULT_USER_CLIENT_ID
            : new ClientQuotaManager.ClientIdEntity(name.asText()));
    }

    private static ClientQuotaEntity entity(JsonNode parts) {
        Map<String, String> names = new HashMap<>();
        parts.forEach(part -> names.put(part.get(0).asText(), text(part.get(1))));
        return new ClientQuotaEntity(names);
    }

    /** The controller's error code for one alteration. */
    private static Object alterations(JsonNode line) throws Exception {
        Class<?> builderClass = Class.forName("org.apache.kafka.controller.ClientQuotaControlManager$Builder");
        var constructor = builderClass.getDeclaredConstructor();
        constructor.setAccessible(true);
        Method build = builderClass.getDeclaredMethod("build");
        build.setAccessible(true);
        Object manager = build.invoke(constructor.newInstance());
        Method alter = manager.getClass().getDeclaredMethod("alterClientQuotas", Collection.class);
        alter.setAccessible(true);
        List<ClientQuotaAlteration.Op> operations = new ArrayList<>();
        for (JsonNode operation : line.get("operations")) {
            JsonNode value = operation.get(1);
            // JSON has no infinity.
            operations.add(new ClientQuotaAlteration.Op(operation.get(0).asText(),
                value.isNull() ? null : value.isTextual() ? Double.valueOf(value.asText()) : value.asDouble()));
        }
        ClientQuotaEntity entity = entity(line.get("entity"));
        Object result = alter.invoke(manager, List.of(new ClientQuotaAlteration(entity, operations)));
        Method response = result.getClass().getMethod("response");
        response.setAccessible(true);
        Method records = result.getClass().getMethod("records");
        records.setAccessible(true);
        @SuppressWarnings("unchecked")
        ApiError error = ((Map<ClientQuotaEntity, ApiError>) response.invoke(result)).get(entity);
        return List.of(error.error().code(), ((List<?>) records.invoke(result)).size());
    }

    /** The numbers of the entities that match, or an error code. */
    private static Object filters(JsonNode line) {
        Map<ClientQuotaEntity, ClientQuotaImage> images = new LinkedHashMap<>();
        List<ClientQuotaEntity> entities = new ArrayList<>();
        for (JsonNode parts : line.get("entities")) {
            ClientQuotaEntity entity = entity(parts);
            entities.add(entity);
            images.put(entity, new ClientQuotaImage(Map.of("producer_byte_rate", 1.0)));
        }
        DescribeClientQuotasRequestData request = new DescribeClientQuotasRequestData();
        request.setStrict(line.get("strict").asBoolean());
        for (JsonNode component : line.get("components"))
            request.components().add(new DescribeClientQuotasRequestData.ComponentData()
                .setEntityType(component.get(0).asText())
                .setMatchType((byte) component.get(1).asInt())
                .setMatch(text(component.get(2))));
        try {
            List<Integer> found = new ArrayList<>();
            for (DescribeClientQuotasResponseData.EntryData entry :
                    new ClientQuotasImage(images).describe(request).entries()) {
                Map<String, String> names = new HashMap<>();
                entry.entity().forEach(part -> names.put(part.entityType(), part.entityName()));
                found.add(entities.indexOf(new ClientQuotaEntity(names)));
            }
            found.sort(null);
            return found;
        } catch (ApiException refused) {
            return Errors.forException(refused).code();
        }
    }

    /** Hosts with their numbers; addresses as Java writes them. */
    private static Object overrides(JsonNode line) {
        try {
            Map<String, Integer> numbers = new HashMap<>();
            for (Map.Entry<String, String> entry : Csv.parseCsvMap(line.get("text").asText()).entrySet()) {
                String host = entry.getKey();
                boolean isLiteral = host.contains(":") || host.matches("[0-9.]+");
                numbers.put(
                    isLiteral ? InetAddress.getByName(host).getHostAddress() : host,
                    Integer.parseInt(entry.getValue()));
            }
            return numbers;
        } catch (Exception refused) {
            return "refused";
        }
    }

    /**
     * Each step is a connection with what happens while it waits, a release, or another limit. A connection is taken on
     * a thread of its own, because Kafka's acceptor sleeps; the answer says after which events it was still waiting.
     */
    private static Object connections(JsonNode line) throws Exception {
        Clock clock = new Clock();
        clock.now = line.get("start").asLong();
        Metrics metrics = new Metrics(new MetricConfig(), new ArrayList<>(), clock);
        Properties properties = new Properties();
        line.get("properties").properties().forEach(
            entry -> properties.setProperty(entry.getKey(), entry.getValue().asText()));
        KafkaConfig config = KafkaConfig.fromProps(properties);
        ConnectionQuotas quotas = new ConnectionQuotas(config, clock, metrics);
        Map<String, ListenerName> listeners = new HashMap<>();
        for (JsonNode name : line.get("listeners")) {
            ListenerName listener = new ListenerName(name.asText());
            listeners.put(name.asText(), listener);
            Method add = ConnectionQuotas.class.getMethod("addListener", KafkaConfig.class, ListenerName.class);
            add.invoke(quotas, config, listener);
        }
        Method counts = ConnectionQuotas.class.getDeclaredMethod("counts");
        counts.setAccessible(true);
        Object lock = counts.invoke(quotas);
        Meter meter = new MetricsRegistry().newMeter(KafkaQuotas.class, "blocked", "blocked", TimeUnit.SECONDS);
        List<Object> answers = new ArrayList<>();
        for (JsonNode step : line.get("steps")) {
            clock.now = step.get(0).asLong();
            switch (step.get(1).asText()) {
                case "connect" -> answers.add(connect(quotas, lock, clock, meter, listeners, step));
                case "release" -> {
                    InetAddress address = InetAddress.getByName(step.get(3).asText());
                    // Fewer than none are open if a connection was not admitted that should have been.
                    int open = quotas.get(address) - 1;
                    if (open >= 0)
                        quotas.dec(listeners.get(step.get(2).asText()), address);
                    answers.add(open);
                }
                case "ip" -> {
                    String address = text(step.get(2));
                    Integer rate = step.get(3).isNull() ? null : step.get(3).asInt();
                    quotas.updateIpConnectionRateQuota(
                        scala.Option.apply(address == null ? null : InetAddress.getByName(address)),
                        scala.Option.apply((Object) rate));
                    answers.add(0);
                }
                case "max" -> {
                    quotas.updateBrokerMaxConnections(step.get(2).asInt());
                    answers.add(listeners.values().stream().filter(quotas::maxConnectionsExceeded)
                        .map(ListenerName::value).sorted().toList());
                }
                case "rate" -> {
                    quotas.updateBrokerMaxConnectionRate(step.get(2).asInt());
                    answers.add(0);
                }
                default -> throw new IllegalArgumentException(step.toString());
            }
        }
        quotas.close();
        metrics.close();
        return answers;
    }

    private static Object connect(ConnectionQuotas quotas, Object lock, Clock clock, Meter meter,
            Map<String, ListenerName> listeners, JsonNode step) throws Exception {
        ListenerName listener = listeners.get(step.get(2).asText());
        InetAddress address = InetAddress.getByName(step.get(3).asText());
        AtomicReference<List<Object>> outcome = new AtomicReference<>();
        Thread acceptor = new Thread(() -> {
            try {
                quotas.inc(listener, address, meter);
                outcome.set(List.of("admit", 0));
            } catch (ConnectionThrottledException throttled) {
                outcome.set(List.of("close", throttled.throttleTimeMs));
            } catch (TooManyConnectionsException refused) {
                // As the acceptor does when it closes the channel.
                quotas.dec(listener, address);
                outcome.set(List.of("close", 0));
            } catch (Throwable failure) {
                outcome.set(List.of(failure.toString()));
            }
        });
        acceptor.start();
        List<Object> waits = new ArrayList<>();
        for (JsonNode event : step.get(4)) {
            boolean isWaiting = settle(acceptor, outcome);
            waits.add(isWaiting);
            if (!isWaiting)
                break;
            long before = clock.asked.get();
            if (event.get(0).asText().equals("clock")) {
                synchronized (lock) {
                    clock.now = event.get(1).asLong();
                    lock.notifyAll();
                }
            } else {
                InetAddress released = InetAddress.getByName(event.get(2).asText());
                if (quotas.get(released) == 0)
                    return List.of("none is open");
                quotas.dec(listeners.get(event.get(1).asText()), released);
            }
            // It has looked at the clock since.
            while (outcome.get() == null && clock.asked.get() == before)
                LockSupport.parkNanos(5_000);
        }
        if (settle(acceptor, outcome)) {
            acceptor.interrupt();
            acceptor.join();
            return List.of(waits, List.of("still waits"));
        }
        acceptor.join();
        return List.of(waits, outcome.get());
    }

    /** Whether the acceptor waits; if not, it has finished. */
    private static boolean settle(Thread acceptor, AtomicReference<List<Object>> outcome) {
        while (outcome.get() == null) {
            Thread.State state = acceptor.getState();
            if (state == Thread.State.WAITING || state == Thread.State.TIMED_WAITING)
                return true;
            LockSupport.parkNanos(5_000);
        }
        return false;
    }
}
