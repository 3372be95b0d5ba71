package manifests

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
)

// The members of etcd find each other and are found by the daemons, by names that stay. One at a
// time goes, none shares a volume, the data fits its volume, and nobody but daemons reaches them.
// The chart has the same objects.
func TestTheMembersOfEtcd(t *testing.T) {
	for _, c := range []struct {
		scheme  string
		objects []object
	}{
		{"http", build(t, withEtcd, nil)},
		{"https", build(t, allEtcd, nil)},
	} {
		t.Run(c.scheme, func(t *testing.T) {
			set := as[apps.StatefulSet](t, find(t, c.objects, "StatefulSet", "flakeward-etcd"))
			pod := set.Spec.Template.Spec
			env := variables(pod.Containers[0])
			if first := pod.Containers[0].Env[0].Name; first != "ETCD_NAME" {
				t.Errorf("the first variable is %s: ETCD_NAME has to come before those that are made of it", first)
			}
			var peers, clients []string
			for i := range *set.Spec.Replicas {
				name := fmt.Sprintf("%s-%d", set.Name, i)
				peers = append(peers, name+"="+expand(env["ETCD_INITIAL_ADVERTISE_PEER_URLS"], name))
				clients = append(clients, strings.TrimPrefix(expand(env["ETCD_ADVERTISE_CLIENT_URLS"], name), c.scheme+"://"))
			}
			if len(peers) != 3 || env["ETCD_INITIAL_CLUSTER"] != strings.Join(peers, ",") {
				t.Errorf("the members are %s, and advertise %v", env["ETCD_INITIAL_CLUSTER"], peers)
			}
			daemon := as[apps.DaemonSet](t, find(t, c.objects, "DaemonSet", "flakeward")).Spec.Template.Spec.Containers[0]
			if got, want := variables(daemon)["FLAKEWARD_COORD"], "etcd://"+strings.Join(clients, ",")+"/flakeward"; got != want {
				t.Errorf("the daemons' coordinator is %s, want %s", got, want)
			}
			for name, value := range env {
				if strings.Contains(value, "://") && !strings.HasPrefix(name, "ETCD_INITIAL_CLUSTER") && name != "ETCD_LISTEN_METRICS_URLS" && !strings.HasPrefix(value, c.scheme+"://") {
					t.Errorf("%s is %s, want %s", name, value, c.scheme)
				}
			}
			tls := c.scheme == "https"
			for _, name := range []string{"ETCD_CLIENT_CERT_AUTH", "ETCD_PEER_CLIENT_CERT_AUTH"} {
				if (env[name] == "true") != tls {
					t.Errorf("%s is %q", name, env[name])
				}
			}

			peersService := as[core.Service](t, find(t, c.objects, "Service", set.Spec.ServiceName))
			if peersService.Spec.ClusterIP != core.ClusterIPNone || !peersService.Spec.PublishNotReadyAddresses || set.Spec.PodManagementPolicy != apps.ParallelPodManagement {
				t.Error("no member finds another before it is ready, and none is ready before it finds another")
			}
			budget := as[policy.PodDisruptionBudget](t, find(t, c.objects, "PodDisruptionBudget", "flakeward-etcd"))
			if budget.Spec.MaxUnavailable.IntValue() != 1 {
				t.Errorf("%v members may be evicted at once", budget.Spec.MaxUnavailable)
			}
			if len(pod.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution) == 0 || pod.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
				t.Errorf("the anti-affinity is %v", pod.Affinity.PodAntiAffinity)
			}
			wantFit(t, set)
			wantRestricted(t, pod)
			wantLetIn(t, as[networking.NetworkPolicy](t, find(t, c.objects, "NetworkPolicy", "flakeward-etcd")))
		})
	}
}

// variables are a container's, by their names, those with a fixed value.
func variables(c core.Container) map[string]string {
	all := map[string]string{}
	for _, e := range c.Env {
		all[e.Name] = e.Value
	}
	return all
}

func expand(value, name string) string { return strings.ReplaceAll(value, "$(ETCD_NAME)", name) }

// wantFit wants a volume for each member, which holds the quota four times.
func wantFit(t *testing.T, set apps.StatefulSet) {
	t.Helper()
	claims := set.Spec.VolumeClaimTemplates
	c := set.Spec.Template.Spec.Containers[0]
	if len(claims) != 1 || c.VolumeMounts[0].Name != claims[0].Name || !strings.HasPrefix(variables(c)["ETCD_DATA_DIR"], c.VolumeMounts[0].MountPath+"/") {
		t.Fatalf("the data is not on a volume of the member's: %v", c.VolumeMounts)
	}
	var quota int64
	if _, err := fmt.Sscan(variables(c)["ETCD_QUOTA_BACKEND_BYTES"], &quota); err != nil || quota == 0 {
		t.Fatalf("the quota is %q: %v", variables(c)["ETCD_QUOTA_BACKEND_BYTES"], err)
	}
	if room := claims[0].Spec.Resources.Requests.Storage().Value(); room < 4*quota {
		t.Errorf("the volume has %d bytes, and the quota is %d", room, quota)
	}
}

// wantRestricted wants a pod that the restricted level takes.
func wantRestricted(t *testing.T, pod core.PodSpec) {
	t.Helper()
	s, p := pod.Containers[0].SecurityContext, pod.SecurityContext
	if !*p.RunAsNonRoot || p.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault || *s.AllowPrivilegeEscalation || !slices.Equal(s.Capabilities.Drop, []core.Capability{"ALL"}) {
		t.Errorf("the security contexts are %v and %v", p, s)
	}
	for _, v := range pod.Volumes {
		if v.Secret == nil {
			t.Errorf("volume %s is no secret", v.Name)
		}
	}
	if *pod.AutomountServiceAccountToken {
		t.Error("the pod has a token")
	}
}

// wantLetIn wants a policy that lets in daemons and members alone.
func wantLetIn(t *testing.T, p networking.NetworkPolicy) {
	t.Helper()
	var components []string
	for _, rule := range p.Spec.Ingress {
		if len(rule.From) == 0 || len(rule.Ports) == 0 {
			t.Errorf("the rule %v lets everybody in", rule)
		}
		for _, from := range rule.From {
			components = append(components, from.PodSelector.MatchLabels["app.kubernetes.io/component"])
		}
	}
	if want := []string{"daemon", "etcd"}; !slices.Equal(components, want) || !slices.Equal(p.Spec.PolicyTypes, []networking.PolicyType{networking.PolicyTypeIngress}) {
		t.Errorf("%v are let in, want %v", components, want)
	}
}
