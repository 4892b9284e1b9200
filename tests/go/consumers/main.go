// Consumers of franz-go in consumer groups, driven by lines of JSON.
//
// `join` starts a consumer under a name, which is its client id; `leave` closes it; `poll` changes nothing. The answer
// to each command lists the partitions of each consumer.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

type command struct {
	Do, Name, Group, Address, Assignor, Instance, Rack string
	Topics                                             []string
}

type partition struct {
	topic string
	id    int32
}

type consumer struct {
	client *kgo.Client
	stop   context.CancelFunc
	ended  chan struct{}
	lock   sync.Mutex
	owned  map[partition]bool
}

var balancers = map[string]func() kgo.GroupBalancer{
	"range":              kgo.RangeBalancer,
	"roundrobin":         kgo.RoundRobinBalancer,
	"sticky":             kgo.StickyBalancer,
	"cooperative-sticky": kgo.CooperativeStickyBalancer,
}

func main() {
	consumers := map[string]*consumer{}
	commands := bufio.NewScanner(os.Stdin)
	answers := json.NewEncoder(os.Stdout)
	for commands.Scan() {
		var given command
		check(json.Unmarshal(commands.Bytes(), &given))
		switch given.Do {
		case "join":
			consumers[given.Name] = join(given)
		case "leave":
			consumers[given.Name].leave()
			delete(consumers, given.Name)
		}
		state := map[string]any{}
		for name, each := range consumers {
			state[name] = map[string]any{"partitions": each.partitions()}
		}
		check(answers.Encode(state))
	}
	for _, each := range consumers {
		each.leave()
	}
}

func join(given command) *consumer {
	ctx, stop := context.WithCancel(context.Background())
	started := &consumer{stop: stop, ended: make(chan struct{}), owned: map[partition]bool{}}
	var strategies []kgo.GroupBalancer
	for _, name := range strings.Split(given.Assignor, ",") {
		strategies = append(strategies, balancers[name]())
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(given.Address, ",")...),
		kgo.ClientID(given.Name),
		kgo.ConsumerGroup(given.Group),
		kgo.ConsumeTopics(given.Topics...),
		kgo.Balancers(strategies...),
		kgo.DisableAutoCommit(),
		kgo.HeartbeatInterval(200 * time.Millisecond),
		kgo.SessionTimeout(6 * time.Second),
		kgo.OnPartitionsAssigned(started.change(true)),
		kgo.OnPartitionsRevoked(started.change(false)),
		kgo.OnPartitionsLost(started.change(false)),
	}
	if given.Instance != "" {
		options = append(options, kgo.InstanceID(given.Instance))
	}
	if given.Rack != "" {
		options = append(options, kgo.Rack(given.Rack))
	}
	client, err := kgo.NewClient(options...)
	check(err)
	started.client = client
	go func() {
		defer close(started.ended)
		for ctx.Err() == nil {
			client.PollFetches(ctx)
		}
	}()
	return started
}

// change returns a callback that adds partitions to those of the consumer, or removes them.
func (c *consumer) change(owned bool) func(context.Context, *kgo.Client, map[string][]int32) {
	return func(_ context.Context, _ *kgo.Client, changed map[string][]int32) {
		c.lock.Lock()
		defer c.lock.Unlock()
		for topic, ids := range changed {
			for _, id := range ids {
				if owned {
					c.owned[partition{topic, id}] = true
				} else {
					delete(c.owned, partition{topic, id})
				}
			}
		}
	}
}

func (c *consumer) partitions() [][]any {
	c.lock.Lock()
	defer c.lock.Unlock()
	found := [][]any{}
	for each := range c.owned {
		found = append(found, []any{each.topic, each.id})
	}
	return found
}

func (c *consumer) leave() {
	c.stop()
	<-c.ended
	c.client.Close()
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
