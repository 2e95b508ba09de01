// Package lines serves the lines of protocol.py: it reads commands, lets a client obey them and tells what came of it.
package lines

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"
)

// Partitions is how many every topic has.
const Partitions = 3

// Command obeys one line's words and returns what to tell.
type Command func(words []string) ([]string, error)

// Options are the plain words of plain_words.py.
type Options map[string]string

// Serve obeys until "close" has been, or the input ends.
func Serve(connect func(Options) error, commands map[string]Command) {
	options := Options{}
	commands["connect"] = func([]string) ([]string, error) { return nil, connect(options) }
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		words := strings.Split(input.Text(), "\t")
		if words[0] == "option" {
			options[words[1]] = words[2]
			continue
		}
		command, known := commands[words[0]]
		if !known {
			fmt.Printf("failed\tno such command: %s\n", words[0])
			continue
		}
		told, err := command(words[1:])
		if err != nil {
			fmt.Printf("failed\t%s\n", strings.NewReplacer("\t", " ", "\n", " ").Replace(err.Error()))
		} else {
			fmt.Println(strings.Join(append([]string{"done"}, told...), "\t"))
		}
		if words[0] == "close" {
			return
		}
	}
}

// Servers are the addresses to begin with.
func (options Options) Servers() []string { return strings.Split(options["servers"], ",") }

// TLS is nil for a plain connection.
func (options Options) TLS() (*tls.Config, error) {
	if options["ca"] == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(options["ca"])
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	if !config.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("no certificate in %s", options["ca"])
	}
	if options["certificate"] != "" {
		pair, err := tls.LoadX509KeyPair(options["certificate"], options["key"])
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
