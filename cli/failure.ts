import { types } from 'node:util';
import { CommanderError } from 'commander';
import { StartFailure } from '../local/failure.ts';
import { sentenceOf } from '../local/sentence.mjs';

/** docs/reference/cli.md documents the codes. */
export const ExitCode = {
  done: 0,
  /** Partly done, or differences were found. The result lists them. */
  incomplete: 1,
  /** Unknown command or option, or an invalid value. */
  usage: 2,
  /** Missing or invalid settings, for example the region, credentials, an API key or an address. */
  settings: 3,
  notFound: 4,
  refused: 5,
  unreachable: 6,
  /** A bug in the command. */
  internal: 70,
} as const;

export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];

/** A failure whose message is for the user. */
export class CliFailure extends Error {
  override readonly name = 'CliFailure';
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

interface Ending {
  readonly exitCode: ExitCode;
  /** Undefined if nothing is left to print, for example after `--help`. */
  readonly sentence: string | undefined;
}

export function endingOf(error: unknown): Ending {
  if (error instanceof CommanderError) return endingOfUsage(error);
  if (error instanceof CliFailure) return { exitCode: error.exitCode, sentence: sentenceOf(error) };
  if (error instanceof StartFailure) return { exitCode: ExitCode.refused, sentence: sentenceOf(error) };
  const known = knownFailure(error);
  if (known !== undefined) return { exitCode: known[0], sentence: known[1] };
  return {
    exitCode: ExitCode.internal,
    sentence: `Internal error: ${sentenceOf(error)} (NODE_DEBUG=payonce shows the stack).`,
  };
}

function endingOfUsage({ code, message }: CommanderError): Ending {
  if (code === 'commander.helpDisplayed' || code === 'commander.version')
    return { exitCode: ExitCode.done, sentence: undefined };
  const text = message
    .replace(/^error: /, '')
    .replace(/ argument '.*' is invalid\. /, ': ')
    .replaceAll('\n', ' ');
  return { exitCode: ExitCode.usage, sentence: text };
}

const CREDENTIALS_REFUSED =
  /^(ExpiredToken(Exception)?|InvalidClientTokenId|UnrecognizedClientException|InvalidAccessKeyId|SignatureDoesNotMatch|InvalidSignatureException|AuthFailure|TokenRefreshRequired)$/;
const NO_CREDENTIALS = /^(CredentialsProviderError|TokenProviderError)$/;
const UNREACHABLE =
  /^(ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EPIPE|EPROTO|UND_ERR_.*|CERT_.*)$/;

function knownFailure(error: unknown): readonly [ExitCode, string] | undefined {
  if (!types.isNativeError(error)) return undefined;
  const text = sentenceOf(error);
  if (text === 'Region is missing')
    return [
      ExitCode.settings,
      'No AWS region is set: set AWS_REGION, or AWS_PROFILE to a profile with a region, or use --local for the local stack.',
    ];
  if (text.startsWith('Region not accepted')) return [ExitCode.settings, `The AWS region is wrong: ${text}`];
  if ('code' in error && error.code === 'ERR_INVALID_URL' && 'input' in error)
    return [
      ExitCode.settings,
      `The AWS endpoint ${String(error.input)} is not a URL: correct AWS_ENDPOINT_URL, or endpoint_url of the profile.`,
    ];
  if (NO_CREDENTIALS.test(error.name))
    return [
      ExitCode.settings,
      `No AWS credentials were found (${text}): set AWS_PROFILE or log in, or use --local for the local stack.`,
    ];
  if (CREDENTIALS_REFUSED.test(error.name)) return [ExitCode.settings, `AWS does not accept the credentials: ${text}`];
  const code = causeCode(error);
  if (UNREACHABLE.test(code) || error.name === 'TimeoutError' || error.message === 'fetch failed')
    return [ExitCode.unreachable, `The service cannot be reached: ${code === '' ? text : reasonOf(error)}`];
  if (error.name === 'ResourceNotFoundException' || /Stack with id .* does not exist/.test(text))
    return [ExitCode.notFound, `Not found at AWS: ${text}`];
  if ('$metadata' in error) return [ExitCode.refused, `AWS refused the request (${error.name}): ${text}`];
  return undefined;
}

/**
 * `fetch` sets the code on the error's cause, the SDK sets it on the error itself, and an AggregateError has a code on
 * each of its errors.
 */
function causeCode(error: Error): string {
  if ('code' in error && typeof error.code === 'string') return error.code;
  const inner = innerError(error);
  return inner === undefined ? '' : causeCode(inner);
}

function reasonOf(error: Error): string {
  const inner = innerError(error);
  return inner !== undefined && causeCode(inner) !== '' ? reasonOf(inner) : sentenceOf(error);
}

function innerError(error: Error): Error | undefined {
  const [first] = 'errors' in error && Array.isArray(error.errors) ? (error.errors as readonly unknown[]) : [];
  const inner = error.cause ?? first;
  return types.isNativeError(inner) ? inner : undefined;
}

export function sentence(message: string): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
}
