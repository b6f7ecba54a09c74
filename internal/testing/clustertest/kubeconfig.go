package clustertest

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// writeKubeconfig writes the file by which a user reaches the cluster's API. It holds the
// certificates: client-go would watch files of their own for ever.
func (c *Cluster) writeKubeconfig(path string, user *clientcmdapi.AuthInfo) error {
	const name = "assay-test"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{
		Server: "https://" + address(node, apiPort), CertificateAuthority: c.authority.certificate(),
	}
	config.AuthInfos[name] = user
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	if err := clientcmdapi.FlattenConfig(config); err != nil {
		return err
	}
	return clientcmd.WriteToFile(*config, path)
}

// kubeconfigOf makes a certificate for a user of the API and writes the user's file.
func (c *Cluster) kubeconfigOf(file, user string, groups ...string) (path string, err error) {
	cert, err := c.authority.client(file, user, groups...)
	if err != nil {
		return "", err
	}
	path = filepath.Join(c.dir, file+".kubeconfig")
	return path, c.writeKubeconfig(path, &clientcmdapi.AuthInfo{ClientCertificate: cert.cert, ClientKey: cert.key})
}

// KubeconfigOf writes the file by which the owner of a token, such as a service account,
// reaches the API. Its path is returned.
func (c *Cluster) KubeconfigOf(t testing.TB, token string) string {
	t.Helper()
	f, err := os.CreateTemp(c.dir, "token-*.kubeconfig")
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	if err := c.writeKubeconfig(f.Name(), &clientcmdapi.AuthInfo{Token: token}); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}
