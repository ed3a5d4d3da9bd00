import { PutObjectCommand, type S3Client, S3ServiceException } from '@aws-sdk/client-s3';
import { NO_BOUNDS } from '../../../lambdas/archive/domain/judge-chain.ts';
import { archivedLines } from '../../../lambdas/archive/store/archived-lines.ts';
import type { LinePage } from '../../../lambdas/archive/use/verify-rows.ts';
import { invariant } from '../../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../../lambdas/kernel/platform/platform.ts';
import { MemoryArchive } from '../../archive/memory-archive.ts';
import { timedOut } from '../../support/faulty-client.ts';
import type { Archived } from './contract.ts';
import type { Process, Voice } from './simulation.ts';

const refused = (name: string, status: number): Error =>
  new S3ServiceException({ name, message: 'refused', $fault: 'client', $metadata: { httpStatusCode: status } });

const VOICE: Voice = {
  throttle: () => refused('SlowDown', 503),
  conflict: () => refused('ConditionalRequestConflict', 409),
  ambiguous: timedOut,
  lasts: [20, 300],
  timeoutMs: 30_000,
};

/** The bucket of the archive, with what its policy and S3 itself demand of a write. */
export class ArchiveBucket {
  readonly #archive = new MemoryArchive();

  /** The client of a process. */
  client(process: () => Process): S3Client {
    const send = (command: object): Promise<unknown> =>
      process().call(`s3 ${command.constructor.name}`, VOICE, () => this.#answer(command));
    return { send } as unknown as S3Client;
  }

  async read(): Promise<Archived> {
    const lines = archivedLines(this.#archive);
    const pages: LinePage[] = [];
    let after: string | undefined;
    do {
      const page = await lines.page(after, NO_BOUNDS);
      pages.push(page);
      after = page.next;
    } while (after !== undefined);
    return {
      lines: pages.flatMap((page) => page.lines),
      changes: pages.flatMap((page) => page.changes),
      unreadable: pages.flatMap((page) => page.unreadable),
    };
  }

  async #answer(command: object): Promise<unknown> {
    if (!(command instanceof PutObjectCommand))
      throw new Error(`the archive does not know ${command.constructor.name}`);
    const { Key: name = '', Body, ChecksumSHA256, IfNoneMatch } = command.input;
    invariant(typeof Body === 'string', 'an object of the archive is text');
    const sha256 = systemDigest.sha256(Body);
    if (IfNoneMatch !== '*') throw refused('AccessDenied', 403);
    if (ChecksumSHA256 !== Buffer.from(sha256).toString('base64')) throw refused('BadDigest', 400);
    if ((await this.#archive.put({ name, text: Body, sha256 })) === 'there') throw refused('PreconditionFailed', 412);
    return {};
  }
}
