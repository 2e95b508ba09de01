// A franz-go producer or consumer under load. benchmarks/clients.py says what its words and lines mean.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const valueBytes = 1000
const partitions = 4
const patience = 60 * time.Second

func main() {
	role, bootstrap, topic, codec, path := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]
	warmUp := number(os.Args[6])
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.DefaultProduceTopic(topic),
		kgo.ProducerBatchCompression(codecs[codec]))
	if err != nil {
		log.Fatal(err)
	}
	run := func(records int) { read(client, topic, records) }
	if role == "send" {
		values := cut(path)
		run = func(records int) { send(client, values, records) }
	}
	for count := 0; count < warmUp; count++ {
		run(1)
	}
	fmt.Println("ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		begun := time.Now()
		run(number(lines.Text()))
		fmt.Println(time.Since(begun).Seconds())
	}
}

var codecs = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

func number(text string) int {
	found, err := strconv.Atoi(text)
	if err != nil {
		log.Fatal(err)
	}
	return found
}

func cut(path string) (values [][]byte) {
	whole, err := os.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	for ; len(whole) > 0; whole = whole[valueBytes:] {
		values = append(values, whole[:valueBytes])
	}
	return values
}

func send(client *kgo.Client, values [][]byte, records int) {
	for at := 0; at < records; at++ {
		client.Produce(context.Background(), &kgo.Record{Value: values[at%len(values)]}, func(_ *kgo.Record, err error) {
			if err != nil {
				log.Fatal(err)
			}
		})
	}
	if err := client.Flush(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// read asks for every partition from its beginning on, until so many records have come.
func read(client *kgo.Client, topic string, records int) {
	begin := map[int32]kgo.Offset{}
	all := []int32{}
	for partition := int32(0); partition < partitions; partition++ {
		begin[partition] = kgo.NewOffset().AtStart()
		all = append(all, partition)
	}
	client.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: begin})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for left := records; left > 0; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			log.Fatalf("%d records did not arrive: %v", left, err)
		}
		left -= fetches.NumRecords()
	}
	client.RemoveConsumePartitions(map[string][]int32{topic: all})
}
