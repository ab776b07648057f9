/** Clients for the API server, with shared connections. */
import {
  type ApiConstructor,
  ApiException,
  type ApiType,
  type ConfigurationOptions,
  type DispatcherOptions,
  KubeConfig,
  PatchStrategy,
  type RequestContext,
  setHeaderMiddleware,
} from "@kubernetes/client-node";

/** A typed client for one API group: `connect(cluster.kubeconfig, CoreV1Api)`. */
export function connect<T extends ApiType>(kubeconfig: string, api: ApiConstructor<T>): T {
  const config = new SharingConfig();
  config.loadFromFile(kubeconfig);
  return config.makeApiClient(api);
}

/**
 * Shares connections between requests. The library opens a new connection for every request, reads the certificates
 * again, and leaves both to the garbage collector, which does not see their size: a node that reports every 20 ms took
 * gigabytes.
 */
class SharingConfig extends KubeConfig {
  #dispatcher: ReturnType<RequestContext["getDispatcher"]>;

  /**
   * Disables HTTP/2. When a request with a body is aborted, as happens when a node is stopped, Node's implementation
   * sends empty frames forever and exhausts memory.
   */
  override createDispatcherOptions(...args: Parameters<KubeConfig["createDispatcherOptions"]>): DispatcherOptions {
    const options = super.createDispatcherOptions(...args);
    const connect = options.type === "agent" && { ...options.connect, allowH2: false };
    return { ...options, ...(connect && { connect }) };
  }

  override async applySecurityAuthentication(context: RequestContext): Promise<void> {
    await super.applySecurityAuthentication(context);
    this.#dispatcher ??= context.getDispatcher();
    if (this.#dispatcher) context.setDispatcher(this.#dispatcher);
  }
}

/** Options for a strategic merge patch. The signal aborts the request. */
export function mergePatch(signal?: AbortSignal): ConfigurationOptions {
  return withSignal(setHeaderMiddleware("Content-Type", PatchStrategy.StrategicMergePatch), signal);
}

/** Options for a request that the signal aborts. */
export function abortable(signal: AbortSignal): ConfigurationOptions {
  return withSignal(setHeaderMiddleware("Accept", "application/json"), signal);
}

/** Whether the API server responded with this error status. */
export function isStatus(error: unknown, code: number): boolean {
  return error instanceof ApiException && error.code === code;
}

/** Ignores that an object does not exist: for the `catch` of a request. */
export function ignoreMissing(error: unknown): undefined {
  if (!isStatus(error, 404)) throw error;
}

function withSignal(
  middleware: ReturnType<typeof setHeaderMiddleware>,
  signal: AbortSignal | undefined,
): ConfigurationOptions {
  return {
    middleware: [
      {
        pre: (request) => {
          if (signal) request.setSignal(signal);
          return middleware.pre(request);
        },
        post: (response) => middleware.post(response),
      },
    ],
    middlewareMergeStrategy: "append",
  };
}
