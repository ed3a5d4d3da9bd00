import { CREDENTIALS, localAws } from './local-aws.ts';

interface SessionCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
}

/**
 * Creates a session of a new role with all rights in S3, to test which calls a resource policy denies even to this
 * role. All other tests call as root of the local account, which no policy restricts.
 */
export async function administratorOfS3(name: string): Promise<SessionCredentials> {
  const statement = (fields: object) =>
    JSON.stringify({ Version: '2012-10-17', Statement: [{ Effect: 'Allow', ...fields }] });
  const trust = statement({ Principal: { AWS: '*' }, Action: 'sts:AssumeRole' });
  const made = await query('iam', '2010-05-08', {
    Action: 'CreateRole',
    RoleName: name,
    AssumeRolePolicyDocument: trust,
  });
  await query('iam', '2010-05-08', {
    Action: 'PutRolePolicy',
    RoleName: name,
    PolicyName: 'All',
    PolicyDocument: statement({ Action: 's3:*', Resource: '*' }),
  });
  const assumed = await query('sts', '2011-06-15', {
    Action: 'AssumeRole',
    RoleArn: made('Arn'),
    RoleSessionName: name,
  });
  return {
    accessKeyId: assumed('AccessKeyId'),
    secretAccessKey: assumed('SecretAccessKey'),
    sessionToken: assumed('SessionToken'),
  };
}

export async function allowRole(RoleName: string, PolicyName: string, statements: readonly object[]): Promise<void> {
  const Statement = statements.map((each) => ({ Effect: 'Allow', ...each }));
  const PolicyDocument = JSON.stringify({ Version: '2012-10-17', Statement });
  await query('iam', '2010-05-08', { Action: 'PutRolePolicy', RoleName, PolicyName, PolicyDocument });
}

export async function forbidRole(RoleName: string, PolicyName: string): Promise<void> {
  await query('iam', '2010-05-08', { Action: 'DeleteRolePolicy', RoleName, PolicyName });
}

/** @returns a function that returns the text of an element of the response */
async function query(service: string, version: string, fields: Readonly<Record<string, string>>) {
  const { awsEndpoint, region } = localAws();
  const day = new Date().toISOString().slice(0, 10).replaceAll('-', '');
  const scope = `${CREDENTIALS.accessKeyId}/${day}/${region}/${service}/aws4_request`;
  const answer = await fetch(awsEndpoint, {
    method: 'POST',
    // The local AWS reads only the access key id, and does not verify the signature.
    headers: { authorization: `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host, Signature=none` },
    body: new URLSearchParams({ ...fields, Version: version }),
  });
  const xml = await answer.text();
  if (!answer.ok) throw new Error(`${fields['Action']} failed: ${xml.slice(0, 300)}`);
  return (name: string): string => new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] ?? '';
}
