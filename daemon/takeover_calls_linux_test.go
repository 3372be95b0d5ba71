package daemon_test

import (
	"context"
	"net/http"
	"sync"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	flakewardv1 "github.com/flakeward/flakeward/api/flakeward/v1"
	"github.com/flakeward/flakeward/api/flakeward/v1/flakewardv1connect"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// A remote call is answered, or refused as unavailable where it waits at that moment, and no ID
// comes twice; a client with a policy tries again. Each client has called the last daemon before
// the next one takes over: one that meets two ends with one call gives up by itself.
func TestTakeoverUnderRemoteCalls(t *testing.T) {
	d := start(t, config(dir(t)))
	path := d.config.Socket.Path
	const policy = `{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 5, "initialBackoff": "1s", "maxBackoff": "10s", "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`
	retrying, err := grpc.NewClient("unix:"+path, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultServiceConfig(policy))
	must.Do(t, err)
	defer retrying.Close()
	once := must.Get(grpc.NewClient("unix:"+path, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDisableRetry()))(t)
	defer once.Close()
	overConnect := flakewardv1connect.NewIdServiceClient(sockettest.HTTP(t, path, true), "http://f")
	grpcNext := func(c *grpc.ClientConn) func(context.Context) ([]int64, error) {
		return func(ctx context.Context) ([]int64, error) {
			var reply flakewardv1.NextResponse
			err := c.Invoke(ctx, flakewardv1connect.IdServiceNextProcedure, &flakewardv1.NextRequest{Count: 10}, &reply)
			return reply.Ids, err
		}
	}
	const withPolicy = "gRPC with its policy"
	stop := make(chan struct{})
	var calling sync.WaitGroup
	var mu sync.Mutex
	called := sync.NewCond(&mu)
	seen, calls, failed := map[int64]bool{}, map[string]int{}, map[string]int{}
	var callers []*int // how many calls each has made
	for name, next := range map[string]func(context.Context) ([]int64, error){
		withPolicy: grpcNext(retrying), "gRPC without": grpcNext(once),
		"Connect": func(ctx context.Context) ([]int64, error) {
			reply, err := overConnect.Next(ctx, connect.NewRequest(&flakewardv1.NextRequest{Count: 10}))
			if err != nil {
				return nil, err
			}
			return reply.Msg.Ids, nil
		},
	} {
		for range 4 {
			made := new(int)
			callers = append(callers, made)
			calling.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					ids, err := next(t.Context())
					mu.Lock()
					calls[name]++
					*made++
					called.Broadcast()
					if err != nil {
						failed[name]++
						if name == withPolicy || connect.CodeOf(err) != connect.CodeUnavailable && status.Code(err) != codes.Unavailable {
							t.Errorf("%s: %v", name, err)
						}
					}
					for _, id := range ids {
						if seen[id] {
							t.Errorf("%d came twice", id)
						}
						seen[id] = true
					}
					mu.Unlock()
				}
			})
		}
	}
	for range 5 {
		d = takeOver(t, d)
		mu.Lock()
		for _, made := range callers {
			for before := *made; *made < before+2; { // one may have been under way
				called.Wait()
			}
		}
		mu.Unlock()
	}
	close(stop)
	calling.Wait()
	t.Logf("FIGURE calls over 5 takeovers: %v, failed: %v", calls, failed)
	if len(seen) < 100 {
		t.Errorf("only %d IDs came", len(seen))
	}
}

// dry is a source without IDs. It says who asks.
type dry struct{ asked chan struct{} }

func (d dry) Take(*issue.Connection, uint32, int) (generator.Run, issue.Wait) {
	d.asked <- struct{}{}
	return generator.Run{}, issue.Wait{Event: true}
}

// A request of HTTP or gRPC that waits at a takeover is refused at once.
func TestWhoWaitsOverHTTPIsRefusedAtATakeover(t *testing.T) {
	empty := dry{make(chan struct{}, 100)}
	before := startBy(t, config(dir(t)), func(ctx context.Context, c daemon.Config) error {
		d, err := daemon.New(c)
		if err != nil {
			return err
		}
		d.Decorate(func(resp.Source) resp.Source { return empty }, func(c coord.Coordinator) coord.Coordinator { return c })
		return d.Run(ctx)
	})
	replied, failed := make(chan *http.Response, 1), make(chan error, 1)
	go func() {
		reply, err := sockettest.HTTP(t, before.config.Socket.Path, false).Get("http://f/v1/ids")
		if err != nil {
			t.Error(err)
		}
		replied <- reply
	}()
	go func() {
		client := flakewardv1connect.NewIdServiceClient(sockettest.HTTP(t, before.config.Socket.Path, true), "http://f", connect.WithGRPC())
		_, err := client.Next(t.Context(), connect.NewRequest(&flakewardv1.NextRequest{Count: 1}))
		failed <- err
	}()
	for range 4 { // each asks once, and again before it waits
		<-empty.asked
	}
	takeOver(t, before)
	if reply := <-replied; reply == nil || reply.StatusCode != http.StatusServiceUnavailable || reply.Header.Get("Retry-After") == "" {
		t.Errorf("the reply is %+v", reply)
	}
	if err := <-failed; connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("the call fails with %v", err)
	}
}
