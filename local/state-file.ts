import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { isAlive, isHealthy } from './emulator.ts';
import type { LocalAws, LocalKeys } from './local-aws.ts';

const keys = z.object({ tenantId: z.string(), apiKey: z.string(), adminApiKey: z.string() });
const localAws = keys.extend({
  awsEndpoint: z.url(),
  region: z.string(),
  apiUrl: z.url(),
  sandboxUrl: z.url(),
  tables: z.object({ idempotency: z.string(), ledger: z.string(), registry: z.string(), views: z.string() }),
  paymentsFunction: z.string(),
  keeperPid: z.int(),
});

/** What `directory` says about a running local AWS: in `local.json` while it runs, and its keys in `keys.json` for the next run. */
export class StateFile {
  readonly #local: string;
  readonly #keys: string;
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
    this.#local = join(directory, 'local.json');
    this.#keys = join(directory, 'keys.json');
  }

  write(aws: LocalAws): void {
    const { tenantId, apiKey, adminApiKey } = aws;
    mkdirSync(this.#directory, { recursive: true });
    // Keys are in them: for this user's eyes only.
    writeFileSync(this.#local, `${JSON.stringify(aws, null, 2)}\n`, { mode: 0o600 });
    writeFileSync(this.#keys, `${JSON.stringify({ tenantId, apiKey, adminApiKey }, null, 2)}\n`, { mode: 0o600 });
  }

  /** What the file says, whether or not it still holds; undefined when it says nothing that can be understood. */
  read(): LocalAws | undefined {
    return readJson(this.#local, localAws);
  }

  /** What is running now: a file left behind by something that was killed counts for nothing. */
  async running(): Promise<LocalAws | undefined> {
    const aws = this.read();
    if (aws === undefined || !isAlive(aws.keeperPid)) return undefined;
    return (await isHealthy(aws.awsEndpoint)) ? aws : undefined;
  }

  keys(): LocalKeys | undefined {
    return readJson(this.#keys, keys);
  }

  remove(): void {
    rmSync(this.#local, { force: true });
  }
}

function readJson<Value>(path: string, schema: z.ZodType<Value>): Value | undefined {
  if (!existsSync(path)) return undefined;
  try {
    return schema.safeParse(JSON.parse(readFileSync(path, 'utf8'))).data;
  } catch {
    return undefined;
  }
}
