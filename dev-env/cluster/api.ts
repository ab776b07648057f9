import {
  type ApiConstructor,
  ApiException,
  type ApiType,
  type ConfigurationOptions,
  KubeConfig,
  PatchStrategy,
  setHeaderMiddleware,
} from "@kubernetes/client-node";

/** A typed client for one API group: `connect(cluster.kubeconfig, CoreV1Api)`. */
export function connect<T extends ApiType>(kubeconfig: string, api: ApiConstructor<T>): T {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  return config.makeApiClient(api);
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
