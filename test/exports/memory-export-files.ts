import type { FilePart } from '../../lambdas/exports/domain/data-export.ts';
import type { ExportFiles } from '../../lambdas/exports/use/exports.ts';

const MIN_PART = 5 * 1024 * 1024;

/** Multipart uploads follow the same rules as at S3. */
export class MemoryExportFiles implements ExportFiles {
  readonly files = new Map<string, string>();
  readonly written = new Map<string, number>();
  readonly uploads = new Map<string, Map<number, { readonly etag: string; readonly text: string }>>();
  readonly #leastPart: number;
  #count = 0;

  /** @param leastPart minimum size of every part except the last, in bytes (S3: 5 MiB) */
  constructor(leastPart = MIN_PART) {
    this.#leastPart = leastPart;
  }

  async begin(file: string): Promise<string> {
    this.#count += 1;
    const uploadId = `${file}-${this.#count}`;
    this.uploads.set(uploadId, new Map());
    return uploadId;
  }

  async part(_file: string, uploadId: string, number: number, text: string): Promise<FilePart> {
    const parts = this.uploads.get(uploadId);
    if (parts === undefined) throw new Error('the upload does not exist');
    this.#count += 1;
    const etag = `etag-${this.#count}`;
    parts.set(number, { etag, text });
    return { number, etag };
  }

  async end(file: string, uploadId: string, parts: readonly FilePart[]): Promise<boolean> {
    const known = this.uploads.get(uploadId);
    if (known === undefined) return false;
    const texts = parts.map(({ number, etag }, index) => {
      const part = known.get(number);
      if (part?.etag !== etag) throw new Error(`part ${number} does not have the tag of the last upload`);
      if (index > 0 && number <= (parts[index - 1]?.number ?? 0)) throw new Error('the parts are not in order');
      if (index < parts.length - 1 && Buffer.byteLength(part.text) < this.#leastPart)
        throw new Error(`part ${number} is too small`);
      return part.text;
    });
    this.uploads.delete(uploadId);
    this.files.set(file, texts.join(''));
    this.written.set(file, (this.written.get(file) ?? 0) + 1);
    return true;
  }

  async exists(file: string): Promise<boolean> {
    return this.files.has(file);
  }

  async keep(file: string, text: string): Promise<void> {
    this.files.set(file, text);
  }

  async kept(file: string): Promise<string | undefined> {
    return this.files.get(file);
  }

  async abort(_file: string, uploadId: string): Promise<void> {
    this.uploads.delete(uploadId);
  }
}
