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
 * The library opens new connections, with certificates read anew, for every request, and leaves them to the garbage
 * collector, which does not see their size: a node that beats every 20 ms took gigabytes. Here they are shared.
 */
class SharingConfig extends KubeConfig {
  #dispatcher: ReturnType<RequestContext["getDispatcher"]>;

  /**
   * Without HTTP/2. Node's sends empty frames without end, into memory without end, when a request that has a body is given up
   * half-way, which a node does when it is stopped.
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

/** Options for a patch that merges objects, and lists by their keys. The signal ends the request. */
export function mergePatch(signal?: AbortSignal): ConfigurationOptions {
  return withSignal(setHeaderMiddleware("Content-Type", PatchStrategy.StrategicMergePatch), signal);
}

/** Options for a request that the signal ends. */
export function abortable(signal: AbortSignal): ConfigurationOptions {
  return withSignal(setHeaderMiddleware("Accept", "application/json"), signal);
}

/** True when the API server refused with that status. */
export function isStatus(error: unknown, code: number): boolean {
  return error instanceof ApiException && error.code === code;
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
