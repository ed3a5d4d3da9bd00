import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Polls as Lambda does: writes a batch as a line of JSON, and commits its offsets when it reads the line "done".
 * Without that line, the next process of the group gets the batch again. Ends with its standard input, which its parent
 * closes by exiting.
 *
 *   Poller produce <servers> <topic>           reads lines of "<partition> <base64>", and "done" after the last
 *   Poller poll <servers> <topic> <group> <records of a batch>
 */
class Poller {
  public static void main(String[] args) throws Exception {
    var input = new LinkedBlockingQueue<String>();
    var reader = new Thread(() -> read(input));
    reader.setDaemon(true);
    reader.start();
    var properties = new Properties();
    properties.put("bootstrap.servers", args[1]);
    if (args[0].equals("produce")) produce(properties, args[2], input);
    else poll(properties, args, input);
  }

  static void read(BlockingQueue<String> input) {
    try (var lines = new BufferedReader(new InputStreamReader(System.in))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) input.add(line);
    } catch (Exception broken) {
      broken.printStackTrace();
    } finally {
      Runtime.getRuntime().halt(1);
    }
  }

  static void produce(Properties properties, String topic, BlockingQueue<String> input) throws Exception {
    try (var producer = new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer())) {
      for (String line = input.take(); !line.equals("done"); line = input.take()) {
        var parts = line.split(" ");
        var value = parts.length < 2 ? null : Base64.getDecoder().decode(parts[1]);
        producer.send(new ProducerRecord<>(topic, Integer.parseInt(parts[0]), null, value)).get();
      }
    }
  }

  static void poll(Properties properties, String[] args, BlockingQueue<String> input) throws Exception {
    properties.put("group.id", args[3]);
    properties.put("max.poll.records", args[4]);
    properties.put("enable.auto.commit", "false");
    properties.put("auto.offset.reset", "earliest");
    // A killed process must not keep its partitions for long.
    properties.put("session.timeout.ms", "6000");
    properties.put("heartbeat.interval.ms", "1000");
    // A batch may be delivered to the function many times, so polling has no time limit.
    properties.put("max.poll.interval.ms", String.valueOf(Integer.MAX_VALUE));
    try (var consumer = new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
      consumer.subscribe(List.of(args[2]));
      while (true) {
        var records = consumer.poll(Duration.ofMillis(200));
        if (records.isEmpty()) continue;
        var json = new StringBuilder();
        for (ConsumerRecord<byte[], byte[]> each : records) json.append(json.isEmpty() ? "[" : ",").append(written(each));
        System.out.println(json.append("]"));
        if (!input.take().equals("done")) return;
        try {
          consumer.commitSync();
        } catch (CommitFailedException | RebalanceInProgressException late) {
          // A slow machine missed heartbeats; the batch is redelivered to the group.
        }
      }
    }
  }

  /** Returns the fields of a record that a Lambda event contains. */
  static String written(ConsumerRecord<byte[], byte[]> record) {
    var value = record.value() == null ? "" : ",\"value\":\"" + Base64.getEncoder().encodeToString(record.value()) + "\"";
    return String.format(
        "{\"topic\":\"%s\",\"partition\":%d,\"offset\":%d,\"timestamp\":%d,\"timestampType\":\"CREATE_TIME\",\"headers\":[]%s}",
        record.topic(), record.partition(), record.offset(), record.timestamp(), value);
  }
}
