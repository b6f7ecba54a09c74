package clustertest

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"

	corev1 "k8s.io/api/core/v1"

	"assay.dev/assay/internal/cluster/client"
)

// names answers the questions of pods for the names of Services, as CoreDNS does in other
// clusters: by what it has last heard of the API, so also while the API is away. Other
// names do not exist.
type names struct {
	services corelisters.ServiceLister
	slices   discoverylisters.EndpointSliceLister

	stop func()
	udp  net.PacketConn
	tcp  net.Listener
	done sync.WaitGroup
}

// startNames listens on the node's address; it returns when all Services are known.
func startNames(ctx context.Context, c client.Interface) (*names, error) {
	services := client.Informer(c, c.CoreV1().Services(metav1.NamespaceAll), &corev1.Service{}, "")
	endpointSlices := client.Informer(c, c.DiscoveryV1().EndpointSlices(metav1.NamespaceAll), &discoveryv1.EndpointSlice{}, "")
	n := &names{services: corelisters.NewServiceLister(services.GetIndexer()), slices: discoverylisters.NewEndpointSliceLister(endpointSlices.GetIndexer())}
	at := address(node, dnsPort)
	var err error
	if n.udp, err = net.ListenPacket("udp", at); err != nil {
		return nil, fmt.Errorf("serve names: %w", err)
	}
	if n.tcp, err = net.Listen("tcp", at); err != nil {
		_ = n.udp.Close()
		return nil, fmt.Errorf("serve names: %w", err)
	}
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	n.stop = stop
	n.done.Go(func() { services.RunWithContext(watching) })
	n.done.Go(func() { endpointSlices.RunWithContext(watching) })
	n.done.Go(n.serveUDP)
	n.done.Go(n.serveTCP)
	if !cache.WaitForCacheSync(ctx.Done(), services.HasSynced, endpointSlices.HasSynced) {
		n.close()
		return nil, fmt.Errorf("serve names: no list of Services and their endpoints: %w", context.Cause(ctx))
	}
	return n, nil
}

func (n *names) close() {
	n.stop()
	_, _ = n.udp.Close(), n.tcp.Close()
	n.done.Wait()
}

// maxDatagram is what every client accepts, in bytes. One whose answer is longer asks
// again by TCP.
const maxDatagram = 512

func (n *names) serveUDP() {
	buffer := make([]byte, maxDatagram)
	for {
		size, from, err := n.udp.ReadFrom(buffer)
		if err != nil {
			return // closed
		}
		if reply, err := n.reply(buffer[:size], maxDatagram); err == nil {
			_, _ = n.udp.WriteTo(reply, from) // it asks again
		}
	}
}

func (n *names) serveTCP() {
	for {
		conn, err := n.tcp.Accept()
		if err != nil {
			return // closed
		}
		n.done.Go(func() {
			defer func() { _ = conn.Close() }()
			_ = n.serveConn(conn)
		})
	}
}

// serveConn answers one question: clients connect again for another.
func (n *names) serveConn(conn net.Conn) error {
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return err
	}
	var size uint16
	if err := binary.Read(conn, binary.BigEndian, &size); err != nil {
		return err
	}
	question := make([]byte, size)
	if _, err := io.ReadFull(conn, question); err != nil {
		return err
	}
	reply, err := n.reply(question, 1<<16-1)
	if err != nil {
		return err
	}
	_, err = conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...))
	return err
}

// reply is the reply to a message, without its answers if it were longer than limit.
func (n *names) reply(message []byte, limit int) ([]byte, error) {
	var parser dnsmessage.Parser
	header, err := parser.Start(message)
	if err != nil {
		return nil, err
	}
	question, err := parser.Question()
	if err != nil {
		return nil, err
	}
	reply := dnsmessage.Message{
		Header: dnsmessage.Header{
			ID: header.ID, Response: true, Authoritative: true, RecursionDesired: header.RecursionDesired, RecursionAvailable: true,
		},
		Questions: []dnsmessage.Question{question},
	}
	addresses, exists := n.find(question.Name.String())
	if !exists {
		reply.RCode = dnsmessage.RCodeNameError
	}
	if question.Type == dnsmessage.TypeA {
		for _, a := range addresses {
			reply.Answers = append(reply.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: question.Name, Class: dnsmessage.ClassINET, TTL: 5}, // seconds, as CoreDNS
				Body:   &dnsmessage.AResource{A: a.As4()},
			})
		}
	}
	packed, err := reply.Pack()
	if err == nil && len(packed) > limit {
		reply.Truncated, reply.Answers = true, nil
		return reply.Pack()
	}
	return packed, err
}

// find returns the IPv4 addresses of SERVICE.NAMESPACE.svc.cluster.local, or those of
// HOST.SERVICE.NAMESPACE.svc.cluster.local, a pod behind a Service without an address.
func (n *names) find(name string) (addresses []netip.Addr, exists bool) {
	name, in := strings.CutSuffix(strings.ToLower(name), ".svc."+domain+".")
	parts := strings.Split(name, ".")
	if !in || len(parts) < 2 || len(parts) > 3 {
		return nil, false
	}
	host, service, namespace := "", parts[len(parts)-2], parts[len(parts)-1]
	if len(parts) == 3 {
		host = parts[0]
	}
	s, err := n.services.Services(namespace).Get(service)
	if err != nil || s.Spec.Type == corev1.ServiceTypeExternalName {
		return nil, false
	}
	if s.Spec.ClusterIP != corev1.ClusterIPNone {
		if host != "" {
			return nil, false
		}
		a, err := netip.ParseAddr(s.Spec.ClusterIP)
		return []netip.Addr{a}, err == nil
	}
	of, err := n.slices.EndpointSlices(namespace).List(labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: service}))
	if err != nil {
		return nil, false
	}
	addresses = endpoints(of, host, s.Spec.PublishNotReadyAddresses)
	return addresses, host == "" || len(addresses) > 0
}

// endpoints are the addresses of ready endpoints, or of all, with this host name if one
// is given.
func endpoints(of []*discoveryv1.EndpointSlice, host string, all bool) (addresses []netip.Addr) {
	for _, slice := range of {
		for _, e := range slice.Endpoints {
			ready := e.Conditions.Ready == nil || *e.Conditions.Ready
			if !ready && !all || host != "" && (e.Hostname == nil || *e.Hostname != host) {
				continue
			}
			for _, text := range e.Addresses {
				if a, err := netip.ParseAddr(text); err == nil && a.Is4() {
					addresses = append(addresses, a)
				}
			}
		}
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	return slices.Compact(addresses)
}
