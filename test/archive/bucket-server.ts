import { S3Client } from '@aws-sdk/client-s3';
import type { BucketFacts } from '../../lambdas/archive/domain/judge-bucket.ts';
import type { Bounds } from '../../lambdas/archive/domain/judge-chain.ts';
import {
  objectsWithSeveralVersions,
  type ReplacedObject,
  readBucket,
} from '../../lambdas/archive/store/read-bucket.ts';

type Answer = readonly [status: number, body: string];
type Configuration = 'versioning' | 'object-lock' | 'publicAccessBlock' | 'lifecycle';

const BLOCKS = ['BlockPublicAcls', 'BlockPublicPolicy', 'IgnorePublicAcls', 'RestrictPublicBuckets'];
export const error = (status: number, code: string): Answer => [status, `<Error><Code>${code}</Code></Error>`];

const ANSWERS: Readonly<Record<Configuration, (value: string) => string>> = {
  versioning: (status) => `<VersioningConfiguration><Status>${status}</Status></VersioningConfiguration>`,
  'object-lock': (days) =>
    `<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled><Rule><DefaultRetention><Mode>GOVERNANCE</Mode><Days>${days}</Days></DefaultRetention></Rule></ObjectLockConfiguration>`,
  publicAccessBlock: (on) =>
    `<PublicAccessBlockConfiguration>${BLOCKS.map((name) => `<${name}>${on}</${name}>`).join('')}</PublicAccessBlockConfiguration>`,
  lifecycle: (what) =>
    `<LifecycleConfiguration><Rule><ID>Clean</ID><Status>Enabled</Status><${what}><Days>30</Days></${what}></Rule></LifecycleConfiguration>`,
};

export class BucketServer {
  policy: readonly object[];
  /** In S3's order. `isMarker` marks a delete marker. */
  versions: readonly (readonly [name: string, isMarker: boolean])[] = [];
  readonly #bucket: string;
  readonly #refused = new Map<string, Answer>();
  readonly #values: Record<Configuration, string | undefined> = {
    versioning: 'Enabled',
    'object-lock': String(7 * 365),
    publicAccessBlock: 'true',
    lifecycle: undefined,
  };

  constructor(bucket: string, policy: readonly object[]) {
    this.#bucket = bucket;
    this.policy = policy;
  }

  set(what: Configuration, value: string | undefined): void {
    this.#values[what] = value;
  }

  refuse(what: Configuration | 'policy', refusal = error(403, 'AccessDenied')): void {
    this.#refused.set(what, refusal);
  }

  /** @returns undefined for a request that is not about the bucket itself */
  answer(query: URLSearchParams): Answer | undefined {
    for (const [what, refusal] of this.#refused) if (query.has(what)) return refusal;
    if (query.has('versions')) return [200, this.#page(query)];
    if (query.has('policy')) return [200, JSON.stringify({ Version: '2012-10-17', Statement: this.policy })];
    for (const [what, value] of Object.entries(this.#values) as [Configuration, string | undefined][]) {
      if (!query.has(what)) continue;
      return value === undefined ? error(404, 'NoSuchConfiguration') : [200, ANSWERS[what](value)];
    }
    return undefined;
  }

  #page(query: URLSearchParams): string {
    const most = Number(query.get('max-keys') ?? 1_000);
    const listed = this.versions.map(([name, isMarker], index) => ({ name, isMarker, index }));
    const after = query.get('key-marker') ?? '';
    const version = Number(query.get('version-id-marker') ?? this.versions.length);
    const rest = listed.filter(
      ({ name, index }) =>
        name.startsWith(query.get('prefix') ?? '') && (name > after || (name === after && index > version)),
    );
    const page = rest.slice(0, most);
    const last = page.at(-1);
    const entries = page.map(({ name, isMarker, index }) => {
      const kind = isMarker ? 'DeleteMarker' : 'Version';
      return `<${kind}><Key>${name}</Key><VersionId>${index}</VersionId></${kind}>`;
    });
    const isCut = rest.length > most && last !== undefined;
    const next = isCut
      ? `<NextKeyMarker>${last.name}</NextKeyMarker><NextVersionIdMarker>${last.index}</NextVersionIdMarker>`
      : '';
    return `<ListVersionsResult><IsTruncated>${isCut}</IsTruncated>${next}${entries.join('')}</ListVersionsResult>`;
  }

  facts(): Promise<BucketFacts> {
    return readBucket(this.#client(), this.#bucket);
  }

  /** @param most maximum number of versions on a page */
  doubled(most: number, bounds: Bounds): Promise<readonly ReplacedObject[]> {
    return objectsWithSeveralVersions(this.#client(most), this.#bucket, bounds);
  }

  #client(most = 1_000): S3Client {
    const answer = ({ query }: { readonly query: Readonly<Record<string, string>> }) => {
      const asked = new URLSearchParams({ ...query, 'max-keys': String(most) });
      const [statusCode, text] = this.answer(asked) ?? error(501, 'NotImplemented');
      const body = new Blob([text]).stream();
      return Promise.resolve({ response: { statusCode, headers: {}, body, reason: '' } });
    };
    return new S3Client({
      region: 'eu-west-1',
      credentials: { accessKeyId: 'AKIATEST', secretAccessKey: 'secret' },
      maxAttempts: 1,
      forcePathStyle: true,
      requestHandler: { handle: answer } as never,
    });
  }
}
