import { createHash, createHmac } from 'node:crypto';

export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | undefined;
}

interface JsonCall {
  readonly host: string;
  /** The operation, as `AWSEvents.PutEvents`. */
  readonly target: string;
  readonly body: string;
}

interface Scope {
  readonly region: string;
  readonly service: string;
  readonly at: Date;
}

const ALGORITHM = 'AWS4-HMAC-SHA256';

/** The headers of a signed POST to `/` in AWS's JSON protocol (AWS Signature Version 4: IAM user guide, "Create a signed AWS API request"). */
export function signedHeaders(call: JsonCall, credentials: AwsCredentials, scope: Scope): Record<string, string> {
  const time = scope.at.toISOString().replaceAll(/[-:]|\.\d{3}/g, '');
  const day = time.slice(0, 'yyyymmdd'.length);
  const headers: Record<string, string> = {
    'content-type': 'application/x-amz-json-1.1',
    host: call.host,
    'x-amz-date': time,
    ...(credentials.sessionToken === undefined ? {} : { 'x-amz-security-token': credentials.sessionToken }),
    'x-amz-target': call.target,
  };
  const names = Object.keys(headers).sort();
  const lines = names.map((name) => `${name}:${headers[name]}\n`).join('');
  const canonical = ['POST', '/', '', lines, names.join(';'), sha256(call.body)].join('\n');
  const within = [day, scope.region, scope.service, 'aws4_request'].join('/');
  const toSign = [ALGORITHM, time, within, sha256(canonical)].join('\n');
  const key = [day, scope.region, scope.service, 'aws4_request'].reduce<string | Buffer>(
    (secret, part) => hmac(secret, part),
    `AWS4${credentials.secretAccessKey}`,
  );
  const signature = createHmac('sha256', key).update(toSign, 'utf8').digest('hex');
  const credential = `${credentials.accessKeyId}/${within}`;
  return {
    ...headers,
    authorization: `${ALGORITHM} Credential=${credential}, SignedHeaders=${names.join(';')}, Signature=${signature}`,
  };
}

function sha256(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text, 'utf8').digest();
}
