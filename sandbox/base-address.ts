import * as z from 'zod';

/**
 * The fields of an API Gateway event that contain the requested address. On AWS, the event contains the domain name,
 * and `path` does not contain the stage. An event without a domain name is from a local emulator. The emulator serves
 * the API under the stage of `<api id>.execute-api.<host>`, or under `/restapis/<api id>/<stage>/_user_request_`.
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

/** Has no trailing slash; undefined if the event does not contain the address. */
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
