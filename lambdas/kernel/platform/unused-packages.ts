/*
 * Replaces, in the functions' bundles, packages that the SDK and Powertools import but the functions never call:
 * JMESPath, because the idempotency key is the only argument of a wrapped function, and the cache of endpoint
 * discovery, which is disabled by default.
 */

export const PowertoolsFunctions = Object;

export function search(): never {
  throw new Error('JMESPath is not in the bundle');
}

export class EndpointCache {
  get(): never {
    throw new Error('endpoint discovery is not in the bundle');
  }

  getEndpoint(): never {
    return this.get();
  }

  has(): never {
    return this.get();
  }

  set(): never {
    return this.get();
  }

  delete(): never {
    return this.get();
  }
}
