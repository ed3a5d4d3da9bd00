// Loaded by each function's process before its code: it sends calls of the stacks' REST APIs to the emulator of this
// run.
//
// On AWS a function calls `https://<api>.execute-api.<region>.amazonaws.com/<stage>`, the address in the template. The
// emulator serves the API under another path, over plain HTTP. Functions keep the address of the template, because
// payments are pinned to the address of their processor: the emulator's port can change at the next start.
const API = /^https:\/\/([a-z0-9]+)\.execute-api\.[a-z0-9.-]+\/(\w+)/;
const { AWS_ENDPOINT_URL } = process.env;
const { fetch } = globalThis;

Object.assign(globalThis, {
  fetch: (/** @type {string | URL | Request} */ address, /** @type {RequestInit | undefined} */ options) => {
    const url = address instanceof Request ? address.url : String(address);
    const local = url.replace(API, `${AWS_ENDPOINT_URL}/restapis/$1/$2/_user_request_`);
    if (local === url) return fetch(address, options);
    if (!(address instanceof Request)) return fetch(local, options);
    // The signal is passed separately, because undici holds the signal of a request only weakly: it could be
    // garbage-collected.
    return fetch(new Request(local, address), { signal: address.signal, ...options });
  },
});
