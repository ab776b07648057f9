// Command http-echo is the program of the test pods: it reports what a request looked like when it arrived.
//
//	http-echo            serves HTTP on 8080 and HTTPS on 8443, both with or without a PROXY protocol v2 header
//	http-echo get URL    sends a request from inside a pod and prints the response; fails after two seconds
//	http-echo pause      does nothing, as the container that holds the namespaces of a pod
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const version = "1.0.0"

type connectionKey struct{}

// report is the response: where the request arrived, and what it looked like there.
type report struct {
	Node string `json:"node"`
	Pod  string `json:"pod"`
	// Peer is the address of the other end of the TCP connection.
	Peer string `json:"peer"`
	// Client is the address in the PROXY protocol header; empty without one.
	Client  string              `json:"client,omitempty"`
	TLS     bool                `json:"tls"`
	Method  string              `json:"method"`
	Host    string              `json:"host"`
	Path    string              `json:"path"`
	Headers map[string][]string `json:"headers"`
}

func main() {
	command := ""
	if len(os.Args) > 1 {
		command = os.Args[1]
	}
	switch {
	case command == "":
		serve()
	case command == "pause":
		pause()
	case command == "get" && len(os.Args) == 3:
		get(os.Args[2])
	default:
		log.Fatal("usage: http-echo [get URL | pause]")
	}
}

func serve() {
	server := &http.Server{
		Handler: http.HandlerFunc(echo),
		ConnContext: func(ctx context.Context, connection net.Conn) context.Context {
			if secure, isSecure := connection.(*tls.Conn); isSecure {
				connection = secure.NetConn()
			}
			return context.WithValue(ctx, connectionKey{}, connection)
		},
	}
	for _, listener := range []net.Listener{
		listen(":8080"),
		tls.NewListener(listen(":8443"), &tls.Config{Certificates: []tls.Certificate{certificate()}}),
	} {
		go func() {
			if err := server.Serve(listener); err != http.ErrServerClosed {
				log.Fatal(err)
			}
		}()
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	<-stop
	// kube-proxy and load balancers need a moment to notice that the pod is terminating, so it keeps serving.
	time.Sleep(grace())
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = server.Shutdown(ctx)
}

// grace is how long to keep serving after SIGTERM: the variable GRACE, such as 5s.
func grace() time.Duration {
	duration, err := time.ParseDuration(os.Getenv("GRACE"))
	if err != nil {
		return 0
	}
	return duration
}

func echo(response http.ResponseWriter, request *http.Request) {
	connection, _ := request.Context().Value(connectionKey{}).(*connection)
	peer, _, _ := net.SplitHostPort(request.RemoteAddr)
	seen := report{
		Node: os.Getenv("NODE_NAME"), Pod: hostname(), Peer: peer, TLS: request.TLS != nil,
		Method: request.Method, Host: request.Host, Path: request.URL.RequestURI(), Headers: request.Header,
	}
	if connection != nil {
		seen.Client = connection.client
	}
	response.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(response)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(seen)
}

func hostname() string {
	name, _ := os.Hostname()
	return name
}

func get(url string) {
	client := http.Client{
		Timeout:   2 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
	}
	response, err := client.Get(url)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(body))
	if response.StatusCode >= 400 {
		log.Fatal(response.Status)
	}
}

// pause reaps the orphans of a pod that shares its process namespace, and ends on the first signal to do so.
func pause() {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGCHLD)
	for received := range signals {
		if received != syscall.SIGCHLD {
			return
		}
		for {
			if pid, _ := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 {
				break
			}
		}
	}
}
