// sarama behind the lines of protocol.py.
package main

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"sync"
	"time"

	"github.com/IBM/sarama"
	"github.com/xdg-go/scram"

	"tsproxy/tests/clients/lines"
)

const patience = 120 * time.Second

type client struct {
	servers  []string
	config   *sarama.Config
	common   sarama.Client
	admin    sarama.ClusterAdmin
	producer sarama.SyncProducer
	together sarama.SyncProducer
	group    sarama.ConsumerGroup
	leave    context.CancelFunc
	seen     *seen
}

func main() {
	c := &client{seen: &seen{values: map[string]bool{}}}
	lines.Serve(c.connect, map[string]lines.Command{
		"create": c.create, "produce": c.produce, "batch": c.batch, "join": c.join, "poll": c.poll,
		"offsets": c.offsets, "brokers": c.brokers, "close": c.close,
	})
}

func (c *client) connect(options lines.Options) (err error) {
	c.servers, c.config = options.Servers(), sarama.NewConfig()
	c.config.Version = sarama.MaxVersion
	c.config.ClientID = options["client.id"]
	c.config.Admin.Timeout = patience
	c.config.Consumer.Offsets.Initial = sarama.OffsetOldest
	c.config.Metadata.Retry.Max = 30
	c.config.Net.MaxOpenRequests = 1 // idempotence asks for it
	c.config.Producer.Idempotent = true
	c.config.Producer.Partitioner = sarama.NewManualPartitioner
	c.config.Producer.RequiredAcks = sarama.WaitForAll
	c.config.Producer.Retry.Max = 100
	c.config.Producer.Return.Successes = true
	if c.config.Net.TLS.Config, err = options.TLS(); err != nil {
		return err
	}
	c.config.Net.TLS.Enable = c.config.Net.TLS.Config != nil
	if options["mechanism"] != "" {
		c.config.Net.SASL.Enable = true
		c.config.Net.SASL.User, c.config.Net.SASL.Password = options["user"], options["password"]
		c.config.Net.SASL.Mechanism = sarama.SASLMechanism(options["mechanism"])
		hash := map[string]scram.HashGeneratorFcn{"SCRAM-SHA-256": sha256.New, "SCRAM-SHA-512": sha512.New}
		c.config.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient {
			return &exchange{hash: hash[options["mechanism"]]}
		}
	}
	if c.common, err = sarama.NewClient(c.servers, c.config); err != nil {
		return err
	}
	if c.admin, err = sarama.NewClusterAdminFromClient(c.common); err != nil {
		return err
	}
	c.producer, err = sarama.NewSyncProducerFromClient(c.common)
	return err
}

func (c *client) create(words []string) ([]string, error) {
	replicas, err := strconv.Atoi(words[1])
	if err != nil {
		return nil, err
	}
	topic := &sarama.TopicDetail{NumPartitions: lines.Partitions, ReplicationFactor: int16(replicas)}
	return nil, c.admin.CreateTopic(words[0], topic, false)
}

func (c *client) produce(words []string) ([]string, error) {
	number, err := strconv.Atoi(words[1])
	if err != nil {
		return nil, err
	}
	message := &sarama.ProducerMessage{
		Topic: words[0], Partition: int32(number), Value: sarama.StringEncoder(words[2]),
	}
	_, offset, err := c.producer.SendMessage(message)
	return []string{strconv.FormatInt(offset, 10)}, err
}

// batch sends with a frequency that is long enough for all records to share a batch.
func (c *client) batch(words []string) (told []string, err error) {
	if c.together == nil {
		config := *c.config
		config.Producer.Flush.Frequency = time.Second
		if c.together, err = sarama.NewSyncProducer(c.servers, &config); err != nil {
			return nil, err
		}
	}
	var messages []*sarama.ProducerMessage
	texts := map[*sarama.ProducerMessage]string{}
	for at := 1; at < len(words); at += 2 {
		milliseconds, err := strconv.ParseInt(words[at+1], 10, 64)
		if err != nil {
			return nil, err
		}
		message := &sarama.ProducerMessage{
			Topic: words[0], Value: sarama.StringEncoder(words[at]), Timestamp: time.UnixMilli(milliseconds),
		}
		messages, texts[message] = append(messages, message), "stored"
	}
	var failed sarama.ProducerErrors
	if err := c.together.SendMessages(messages); errors.As(err, &failed) {
		for _, each := range failed {
			texts[each.Msg] = each.Err.Error()
		}
	} else if err != nil {
		return nil, err
	}
	for _, message := range messages {
		told = append(told, texts[message])
	}
	return told, nil
}

func (c *client) join(words []string) (told []string, err error) {
	// A client of its own: with one request at a time, a fetch would hold up what is produced.
	if c.group, err = sarama.NewConsumerGroup(c.servers, words[0], c.config); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.leave = cancel
	go func() {
		for ctx.Err() == nil { // it returns at every rebalance, and where a coordinator has gone
			if c.group.Consume(ctx, words[1:2], c.seen) != nil {
				time.Sleep(100 * time.Millisecond)
			}
		}
	}()
	return nil, nil
}

func (c *client) poll(words []string) ([]string, error) {
	count, err := strconv.Atoi(words[0])
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(patience); c.seen.count() < count && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	return c.seen.sorted(), nil
}

func (c *client) offsets(words []string) (told []string, err error) {
	for partition := range int32(lines.Partitions) {
		end, err := c.end(words[0], partition)
		if err != nil {
			return nil, err
		}
		told = append(told, fmt.Sprintf("%d=%d", partition, end))
	}
	return told, nil
}

// end asks again while a new leader is not ready to tell: sarama itself does so once, and at once.
func (c *client) end(topic string, partition int32) (int64, error) {
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		end, err := c.common.GetOffset(topic, partition, sarama.OffsetNewest)
		var rejection sarama.KError
		if err == nil || !errors.As(err, &rejection) || !passing[rejection] || time.Now().After(deadline) {
			return end, err
		}
	}
}

// passing are the rejections that a leader's move explains.
var passing = map[sarama.KError]bool{
	sarama.ErrFencedLeaderEpoch: true, sarama.ErrLeaderNotAvailable: true, sarama.ErrNotLeaderForPartition: true,
	sarama.ErrOffsetNotAvailable: true, sarama.ErrReplicaNotAvailable: true, sarama.ErrUnknownLeaderEpoch: true,
}

func (c *client) brokers([]string) (told []string, err error) {
	brokers, _, err := c.admin.DescribeCluster()
	for _, broker := range brokers {
		told = append(told, fmt.Sprintf("%d=%s", broker.ID(), broker.Addr()))
	}
	return told, err
}

func (c *client) close([]string) ([]string, error) {
	if c.leave != nil {
		c.leave()
		if err := c.group.Close(); err != nil {
			return nil, err
		}
	}
	return nil, c.producer.Close()
}

// seen is what the group's member has read.
type seen struct {
	sync.Mutex
	values map[string]bool
}

func (s *seen) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (s *seen) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (s *seen) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		s.Lock()
		s.values[string(message.Value)] = true
		s.Unlock()
		session.MarkMessage(message, "")
	}
	return nil
}

func (s *seen) count() int {
	s.Lock()
	defer s.Unlock()
	return len(s.values)
}

func (s *seen) sorted() (told []string) {
	s.Lock()
	defer s.Unlock()
	for value := range s.values {
		told = append(told, value)
	}
	sort.Strings(told)
	return told
}

// exchange is SCRAM, which sarama leaves to its user.
type exchange struct {
	hash scram.HashGeneratorFcn
	*scram.ClientConversation
}

func (e *exchange) Begin(user, password, authorization string) error {
	client, err := e.hash.NewClient(user, password, authorization)
	if err != nil {
		return err
	}
	e.ClientConversation = client.NewConversation()
	return nil
}
