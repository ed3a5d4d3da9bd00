import type { RestApi } from 'aws-cdk-lib/aws-apigateway';
import { ResponseType } from 'aws-cdk-lib/aws-apigateway';
import { explanationOf } from '../../lambdas/kernel/contract/api.ts';

interface GatewayProblem {
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  /** @default no header */
  readonly retryAfterSeconds?: number;
}

const NOT_FOUND: GatewayProblem = {
  status: 404,
  code: 'not_found',
  title: 'Not found',
  detail: 'There is nothing at this path.',
};

const RATE_LIMITED: GatewayProblem = {
  status: 429,
  code: 'rate_limited',
  title: 'Too many requests',
  detail: 'This API receives too many requests. This request had no effect: send it again shortly.',
  retryAfterSeconds: 1,
};

const INTERNAL_ERROR: GatewayProblem = {
  status: 500,
  code: 'internal_error',
  title: 'Internal error',
  detail:
    'The service did not respond: it failed or is overloaded. Send the same request again: it takes effect at most once.',
};

/**
 * Error responses that API Gateway generates. Each of the two default responses stands for several statuses, but always
 * sends the status listed here: the body must contain the status, and a template cannot read the status that the
 * gateway chose.
 */
const PROBLEMS: readonly (readonly [ResponseType, GatewayProblem])[] = [
  [
    ResponseType.DEFAULT_4XX,
    {
      status: 400,
      code: 'invalid_request',
      title: 'Invalid request',
      detail: 'The gateway could not read the request: its path, headers or size are not valid.',
    },
  ],
  [ResponseType.DEFAULT_5XX, INTERNAL_ERROR],
  // The gateway uses this response type for an unknown method or path.
  [ResponseType.MISSING_AUTHENTICATION_TOKEN, NOT_FOUND],
  [ResponseType.RESOURCE_NOT_FOUND, NOT_FOUND],
  [
    ResponseType.WAF_FILTERED,
    {
      status: 403,
      code: 'forbidden',
      title: 'Forbidden',
      detail:
        'The firewall of this deployment refused the request. Its operators can allow the address or the content.',
    },
  ],
  [
    ResponseType.REQUEST_TOO_LARGE,
    {
      status: 413,
      code: 'body_too_large',
      title: 'Content too large',
      detail: 'The request is larger than the gateway accepts.',
    },
  ],
  [
    ResponseType.UNSUPPORTED_MEDIA_TYPE,
    {
      status: 415,
      code: 'unsupported_media_type',
      title: 'Unsupported media type',
      detail: 'The body must be application/json in UTF-8.',
    },
  ],
  [ResponseType.THROTTLED, RATE_LIMITED],
  [ResponseType.QUOTA_EXCEEDED, RATE_LIMITED],
  // The function was throttled or crashed.
  [ResponseType.INTEGRATION_FAILURE, INTERNAL_ERROR],
  [
    ResponseType.INTEGRATION_TIMEOUT,
    {
      status: 504,
      code: 'timeout',
      title: 'Gateway timeout',
      detail: 'The service did not respond in time. Send the same request again: it takes effect at most once.',
    },
  ],
];

const bodyOf = ({ status, code, title, detail }: GatewayProblem, root?: string) => ({
  type: root === undefined ? 'about:blank' : `${root}/${explanationOf(code)}`,
  title,
  status,
  code,
  detail,
  request_id: '$context.requestId',
});

/** Returns the value of `Link`: the OpenAPI document and its page, as in the API's own responses. */
const linkTo = (root: string): string =>
  `<${root}/v1/openapi.json>; rel="service-desc", <${root}/docs>; rel="service-doc"`;

/** @param root the path of the API's root */
export function gatewayProblemBodies(root: string) {
  return PROBLEMS.map(([, problem]) => bodyOf(problem, root));
}

/**
 * Renders the gateway's errors like the API's errors (RFC 9457), so that a client parses only one format.
 *
 * @param root the path of the API's root; undefined for an API without documents
 */
export function answerWithProblems(api: RestApi, root?: string): void {
  for (const [type, problem] of PROBLEMS) {
    const { status, retryAfterSeconds } = problem;
    api.addGatewayResponse(`Response${type.responseType}`, {
      type,
      statusCode: String(status),
      responseHeaders: {
        'Content-Type': "'application/problem+json'",
        'Cache-Control': "'no-store'",
        'Request-Id': 'context.requestId',
        ...(root === undefined ? {} : { Link: `'${linkTo(root)}'` }),
        ...(retryAfterSeconds === undefined ? {} : { 'Retry-After': `'${retryAfterSeconds}'` }),
      },
      templates: { 'application/json': JSON.stringify(bodyOf(problem, root)) },
    });
  }
}
