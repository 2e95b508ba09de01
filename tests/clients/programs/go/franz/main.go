// franz-go behind the lines of protocol.py.
package main

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"tsproxy/tests/clients/lines"
)

const patience = 120 * time.Second

type client struct {
	common   []kgo.Opt
	producer *kgo.Client
	together *kgo.Client
	consumer *kgo.Client
	admin    *kadm.Client
	seen     map[string]bool
}

func main() {
	c := &client{seen: map[string]bool{}}
	lines.Serve(c.connect, map[string]lines.Command{
		"create": c.create, "produce": c.produce, "batch": c.batch, "join": c.join, "poll": c.poll,
		"offsets": c.offsets, "brokers": c.brokers, "transact": c.transact, "close": c.close,
	})
}

func (c *client) connect(options lines.Options) error {
	config, err := options.TLS()
	if err != nil {
		return err
	}
	c.common = []kgo.Opt{kgo.SeedBrokers(options.Servers()...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ClientID(options["client.id"]),
		// By default a record fails one second after its topic was made, if brokers have not heard of it by then.
		kgo.UnknownTopicRetries(-1)}
	if config != nil {
		c.common = append(c.common, kgo.DialTLSConfig(config))
	}
	if options["mechanism"] != "" {
		c.common = append(c.common, kgo.SASL(mechanism(options)))
	}
	if c.producer, err = kgo.NewClient(c.common...); err != nil {
		return err
	}
	c.admin = kadm.NewClient(c.producer)
	c.admin.SetTimeoutMillis(int32(patience.Milliseconds()))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return c.producer.Ping(ctx)
}

func mechanism(options lines.Options) sasl.Mechanism {
	user, password := options["user"], options["password"]
	switch options["mechanism"] {
	case "SCRAM-SHA-256":
		return scram.Auth{User: user, Pass: password}.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		return scram.Auth{User: user, Pass: password}.AsSha512Mechanism()
	default:
		return plain.Auth{User: user, Pass: password}.AsMechanism()
	}
}

func (c *client) create(words []string) ([]string, error) {
	replicas, err := strconv.Atoi(words[1])
	if err != nil {
		return nil, err
	}
	_, err = c.admin.CreateTopic(context.Background(), lines.Partitions, int16(replicas), nil, words[0])
	return nil, err
}

func (c *client) produce(words []string) ([]string, error) {
	return produce(c.producer, words[0], words[1], words[2])
}

func produce(by *kgo.Client, topic, partition, value string) ([]string, error) {
	number, err := strconv.Atoi(partition)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	record := &kgo.Record{Topic: topic, Partition: int32(number), Value: []byte(value)}
	sent, err := by.ProduceSync(ctx, record).First()
	if err != nil {
		return nil, err
	}
	return []string{strconv.FormatInt(sent.Offset, 10)}, nil
}

// batch sends with a linger that is long enough for all records to share a batch.
func (c *client) batch(words []string) (told []string, err error) {
	if c.together == nil {
		linger := kgo.ProducerLinger(time.Second)
		if c.together, err = kgo.NewClient(append([]kgo.Opt{linger}, c.common...)...); err != nil {
			return nil, err
		}
	}
	var records []*kgo.Record
	for at := 1; at < len(words); at += 2 {
		milliseconds, err := strconv.ParseInt(words[at+1], 10, 64)
		if err != nil {
			return nil, err
		}
		records = append(records, &kgo.Record{
			Topic: words[0], Value: []byte(words[at]), Timestamp: time.UnixMilli(milliseconds),
		})
	}
	texts := map[*kgo.Record]string{}
	for _, result := range c.together.ProduceSync(context.Background(), records...) {
		texts[result.Record] = "stored"
		if result.Err != nil {
			texts[result.Record] = result.Err.Error()
		}
	}
	for _, record := range records {
		told = append(told, texts[record])
	}
	return told, nil
}

func (c *client) join(words []string) (told []string, err error) {
	reading := []kgo.Opt{
		kgo.ConsumerGroup(words[0]), kgo.ConsumeTopics(words[1]),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	}
	c.consumer, err = kgo.NewClient(append(reading, c.common...)...)
	return nil, err
}

func (c *client) poll(words []string) ([]string, error) {
	count, err := strconv.Atoi(words[0])
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for len(c.seen) < count && ctx.Err() == nil {
		// Errors of a fetch are tried again by the client; what never comes is missed by the play.
		c.consumer.PollFetches(ctx).EachRecord(func(record *kgo.Record) { c.seen[string(record.Value)] = true })
	}
	return sorted(c.seen), c.consumer.CommitUncommittedOffsets(context.Background())
}

func (c *client) offsets(words []string) (told []string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ends, err := ends(ctx, c.admin.ListEndOffsets, words[0])
	ends.Each(func(end kadm.ListedOffset) { told = append(told, fmt.Sprintf("%d=%d", end.Partition, end.Offset)) })
	return told, err
}

// ends asks again while leaders move: when several have, franz-go itself does so only for the first that rejects.
func ends(
	ctx context.Context, list func(context.Context, ...string) (kadm.ListedOffsets, error), topic string,
) (kadm.ListedOffsets, error) {
	for {
		ends, err := list(ctx, topic)
		err = errors.Join(err, ends.Error())
		if !kerr.IsRetriable(err) || ctx.Err() != nil {
			return ends, err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (c *client) brokers([]string) (told []string, err error) {
	brokers, err := c.admin.ListBrokers(context.Background())
	for _, broker := range brokers {
		told = append(told, fmt.Sprintf("%d=%s:%d", broker.NodeID, broker.Host, broker.Port))
	}
	return told, err
}

func (c *client) transact(words []string) ([]string, error) {
	topic, id, kept, dropped := words[0], words[1], words[2], words[3]
	writer, err := kgo.NewClient(append([]kgo.Opt{kgo.TransactionalID(id)}, c.common...)...)
	if err != nil {
		return nil, err
	}
	defer writer.Close()
	for _, each := range []struct {
		value string
		end   kgo.TransactionEndTry
	}{{kept, kgo.TryCommit}, {dropped, kgo.TryAbort}} {
		if err := writer.BeginTransaction(); err != nil {
			return nil, err
		}
		if _, err := produce(writer, topic, "0", each.value); err != nil {
			return nil, err
		}
		if err := writer.EndTransaction(context.Background(), each.end); err != nil {
			return nil, err
		}
	}
	return c.committed(topic)
}

func (c *client) committed(topic string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ends, err := ends(ctx, c.admin.ListCommittedOffsets, topic)
	if err != nil {
		return nil, err
	}
	end, _ := ends.Lookup(topic, 0)
	start := map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}
	reading := []kgo.Opt{kgo.ConsumePartitions(start), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords()}
	reader, err := kgo.NewClient(append(reading, c.common...)...)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	told := map[string]bool{}
	for next := int64(0); next < end.Offset && ctx.Err() == nil; {
		reader.PollFetches(ctx).EachRecord(func(record *kgo.Record) {
			next = record.Offset + 1
			if !record.Attrs.IsControl() {
				told[string(record.Value)] = true
			}
		})
	}
	return sorted(told), ctx.Err()
}

func (c *client) close([]string) ([]string, error) {
	if c.consumer != nil {
		c.consumer.Close()
	}
	c.producer.Close()
	return nil, nil
}

func sorted(values map[string]bool) (told []string) {
	for value := range values {
		told = append(told, value)
	}
	sort.Strings(told)
	return told
}
