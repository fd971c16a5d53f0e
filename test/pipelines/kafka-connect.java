// Kafka Connect in standalone mode with a JDBC source connector: a broker, the worker, and a reader of
// the topic in one process
//
// The connector's own name for its class is io.aiven's; the settings are the same in other
// distributions of it.

import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

class KafkaConnect {
	static Path directory;

	static String settings(String name, String... lines) throws IOException {
		return Files.write(directory.resolve(name), List.of(lines)).toString();
	}

	static int port(int preferred) throws IOException {
		try (ServerSocket socket = new ServerSocket(preferred)) {
			return socket.getLocalPort();
		}
	}

	interface Program { void run() throws Exception; }

	static void start(Program program) {
		new Thread(() -> {
			try {
				program.run();
			} catch (Throwable e) {
				e.printStackTrace();
				Runtime.getRuntime().halt(1);
			}
		}).start();
	}

	static void waitFor(int port) throws InterruptedException {
		for (;; Thread.sleep(200))
			try (Socket socket = new Socket("127.0.0.1", port)) {
				return;
			} catch (IOException e) {
				// not yet
			}
	}

	// The worker has a connector of the class that is on the class path.
	static String connector() {
		for (String name : new String[] {"io.aiven.connect.jdbc", "io.confluent.connect.jdbc"})
			try {
				return Class.forName(name + ".JdbcSourceConnector").getName();
			} catch (ClassNotFoundException e) {
				// the next one
			}
		throw new IllegalStateException("no connector");
	}

	public static void main(String[] args) throws Exception {
		String relation = args[0], cursor = args[1];
		directory = Path.of(args[2]);
		String url = "jdbc:postgresql://127.0.0.1:%s/%s?user=%s".formatted(
			System.getenv("PGPORT"), System.getenv("PGDATABASE"), System.getenv("PGUSER"));
		String logged = url + "&ApplicationName=" + relation + "&options=-c%20log_statement=all";
		int broker = port(0), controller = port(0);
		String servers = "127.0.0.1:" + broker;
		boolean table;
		try (Connection db = DriverManager.getConnection(url)) {
			table = db.getMetaData().getTables(null, null, relation, new String[] {"TABLE"}).next();
		}

		String server = settings("server.properties",
			"process.roles=broker,controller", "node.id=1", "log.dirs=" + directory.resolve("log"),
			"listeners=PLAINTEXT://" + servers + ",CONTROLLER://127.0.0.1:" + controller,
			"controller.listener.names=CONTROLLER", "controller.quorum.voters=1@127.0.0.1:" + controller,
			"offsets.topic.replication.factor=1", "offsets.topic.num.partitions=1",
			"group.initial.rebalance.delay.ms=0", "auto.create.topics.enable=true");
		if (!Files.exists(directory.resolve("log/meta.properties")))
			kafka.tools.StorageTool.execute(new String[] {"format", "-c", server, "-t", "AAAAAAAAAAAAAAAAAAAAAA"}, System.err);
		start(() -> kafka.Kafka.main(new String[] {server}));
		waitFor(broker);

		String worker = settings("worker.properties",
			"bootstrap.servers=" + servers, "listeners=http://127.0.0.1:0",
			"offset.storage.file.filename=" + directory.resolve("offsets"), "offset.flush.interval.ms=1000",
			"plugin.discovery=only_scan", "key.converter=org.apache.kafka.connect.storage.StringConverter",
			"value.converter=org.apache.kafka.connect.json.JsonConverter", "value.converter.schemas.enable=false");
		String source = settings("source.properties",
			"name=orders", "connector.class=" + connector(), "tasks.max=1", "connection.url=" + logged,
			"table.whitelist=" + relation, "table.types=" + (table ? "TABLE" : "VIEW"), "validate.non.null=false",
			"mode=incrementing", "incrementing.column.name=" + cursor, "poll.interval.ms=500", "topic.prefix=copy-");
		start(() -> org.apache.kafka.connect.cli.ConnectStandalone.main(new String[] {worker, source}));

		while (!Files.exists(directory.resolve("end")))
			Thread.sleep(200);
		String last;
		try (Connection db = DriverManager.getConnection(url);
				ResultSet row = db.createStatement().executeQuery("SELECT id FROM " + relation + " ORDER BY " + cursor + " DESC LIMIT 1")) {
			row.next();
			last = row.getString(1);
		}

		Properties properties = new Properties();
		properties.putAll(Map.of("bootstrap.servers", servers, "key.deserializer", StringDeserializer.class.getName(),
			"value.deserializer", StringDeserializer.class.getName()));
		List<String> rows = new ArrayList<>();
		try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(properties)) {
			TopicPartition topic = new TopicPartition("copy-" + relation, 0);
			consumer.assign(List.of(topic));
			consumer.seekToBeginning(List.of(topic));
			boolean complete = false;
			for (long until = System.currentTimeMillis() + 60_000; !complete && System.currentTimeMillis() < until;)
				for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(500))) {
					JsonNode row = new ObjectMapper().readTree(record.value());
					rows.add(row.get("id").asText() + "|" + row.get("body").asText());
					complete |= row.get("id").asText().equals(last);
				}
		}
		Files.write(directory.resolve("rows"), rows);
		Runtime.getRuntime().halt(0);
	}
}
