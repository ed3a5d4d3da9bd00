import * as z from 'zod';

/**
 * What an API Gateway event tells of the address that was called. On AWS that is the domain name, and the path before the
 * stage is cut off. A gateway that names no domain is an emulator on this machine: it puts the API under the stage of a
 * host of its own, `<api id>.execute-api.<host>`, or under a path that all emulators share.
 */
const gatewayEvent = z.object({
  path: z.string(),
  headers: z.record(z.string(), z.string().optional()).nullish(),
  requestContext: z.object({
    apiId: z.string(),
    stage: z.string(),
    path: z.string(),
    domainName: z.string().min(1).optional(),
  }),
});

/** Under which address the sandbox was called, without a trailing slash; undefined when the event cannot tell. */
export function baseAddress(event: unknown): string | undefined {
  const parsed = gatewayEvent.safeParse(event);
  if (!parsed.success) {
    return undefined;
  }
  const { path, headers, requestContext } = parsed.data;
  const { apiId, stage, domainName } = requestContext;
  const host = Object.entries(headers ?? {}).find(([name]) => name.toLowerCase() === 'host')?.[1];
  if (domainName !== undefined) {
    const called = requestContext.path;
    return `https://${domainName}${called.endsWith(path) ? called.slice(0, -path.length) : `/${stage}`}`;
  }
  if (host === undefined) {
    return undefined;
  }
  return host.startsWith(`${apiId}.execute-api.`)
    ? `http://${host}/${stage}`
    : `http://${host}/restapis/${apiId}/${stage}/_user_request_`;
}
