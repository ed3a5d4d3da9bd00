import * as z from 'zod';
import { systemDigest } from '../../kernel/platform/platform.ts';
import {
  hasNoFindings,
  VERIFICATION_VERSION,
  VERIFICATIONS_PREFIX,
  VERIFIED,
  type Verification,
  type VerifiedKind,
  verificationName,
  verificationObject,
} from '../domain/verification.ts';
import type { ArchiveObjects } from '../use/archive-lines.ts';
import type { StoredObjects } from '../use/stored-objects.ts';
import type { RecordedVerifications, Verifications } from '../use/verifications.ts';

const count = z.int().min(0);
const stored = z
  .strictObject({
    v: z.literal(VERIFICATION_VERSION),
    kind: z.enum(VERIFIED),
    beganMs: count,
    endedMs: count,
    fromMs: count,
    untilMs: count,
    verdict: z.enum(['holds', 'differs', 'failed']),
    counts: z
      .strictObject({ rows: count, lines: count, chains: count, objects: count, manifests: count })
      .exactOptional(),
    found: count,
    first: z.array(z.looseObject({ kind: z.string() })),
    because: z.string().exactOptional(),
  })
  .transform(({ v: _version, ...verification }) => verification);

/** Maximum number of keys per S3 page: about 40 days of hourly records. */
const NAMES = 1_000;

export class StoredVerifications implements Verifications {
  readonly #reader: StoredObjects;
  readonly #writer: ArchiveObjects | undefined;

  constructor(reader: StoredObjects, writer?: ArchiveObjects) {
    this.#reader = reader;
    this.#writer = writer;
  }

  async write(verification: Verification): Promise<void> {
    if (this.#writer === undefined) throw new Error('these records are read-only');
    // The key contains a digest of the content, so an existing record is the same.
    await this.#writer.put(verificationObject(systemDigest, verification));
  }

  async newest(kind: VerifiedKind, most: number): Promise<RecordedVerifications> {
    const prefix = `${VERIFICATIONS_PREFIX}${kind}/`;
    const names = await this.#reader.names(prefix, prefix, NAMES);
    const earlier = names.slice(most).filter((name) => !hasNoFindings(name));
    const wanted = [...names.slice(0, most), ...earlier.slice(0, most)];
    const read = await Promise.all(wanted.map((name) => this.#read(name)));
    const verifications = read.filter((each) => each !== undefined);
    return { verifications, unreadable: read.length - verifications.length };
  }

  /** @returns undefined when the content is invalid or does not match the key: the auditor did not write this object */
  async #read(name: string): Promise<Verification | undefined> {
    try {
      const text = (await this.#reader.text(name)) ?? '';
      const verification = stored.parse(JSON.parse(text));
      return verificationName(verification, systemDigest.sha256(text)) === name ? verification : undefined;
    } catch (error) {
      if (error instanceof SyntaxError || error instanceof z.ZodError) return undefined;
      throw error;
    }
  }
}
