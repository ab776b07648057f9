package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"log"
	"math/big"
	"net"
	"time"
)

// signature starts every header of version 2 of the PROXY protocol.
const signature = "\r\n\r\n\x00\r\nQUIT\n"

const headerTimeout = 5 * time.Second

type listener struct{ net.Listener }

// connection is a TCP connection whose PROXY protocol header, if it has one, has been read.
type connection struct {
	net.Conn
	reader *bufio.Reader
	isRead bool
	client string
}

func listen(address string) net.Listener {
	inner, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	return listener{inner}
}

func (l listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &connection{Conn: accepted, reader: bufio.NewReader(accepted)}, nil
}

// Read reads the header first. Not in Accept, where a silent client would block all others.
func (c *connection) Read(data []byte) (int, error) {
	if !c.isRead {
		c.isRead = true
		_ = c.SetReadDeadline(time.Now().Add(headerTimeout))
		if err := c.readHeader(); err != nil {
			return 0, err
		}
		_ = c.SetReadDeadline(time.Time{})
	}
	return c.reader.Read(data)
}

func (c *connection) readHeader() error {
	start, err := c.reader.Peek(len(signature))
	if err != nil || string(start) != signature {
		return nil // Not a header: what was peeked at is read as data.
	}
	fixed := make([]byte, 16)
	if _, err := io.ReadFull(c.reader, fixed); err != nil {
		return err
	}
	addresses := make([]byte, binary.BigEndian.Uint16(fixed[14:]))
	if _, err := io.ReadFull(c.reader, addresses); err != nil {
		return err
	}
	isProxied, overIPv4 := fixed[12] == 0x21, fixed[13] == 0x11
	if isProxied && overIPv4 && len(addresses) >= 12 {
		c.client = net.IP(addresses[:4]).String()
	}
	return nil
}

// certificate is self-signed and new at every start.
func certificate() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		DNSNames:     []string{"http-echo"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().AddDate(1, 0, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		log.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
