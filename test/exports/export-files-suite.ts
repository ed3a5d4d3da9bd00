import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ExportFiles } from '../../lambdas/exports/use/exports.ts';

export interface FilesUnderTest {
  readonly files: ExportFiles;
  readonly text: (file: string) => Promise<string | undefined>;
}

const LARGE = 'é'.repeat(3 * 1024 * 1024);
let made = 0;

export function describeExportFiles(name: string, make: () => Promise<FilesUnderTest>): void {
  describe(`${name}: when files are uploaded in parts,`, () => {
    let tools: FilesUnderTest;
    let file: string;
    beforeEach(async () => {
      tools = await make();
      made += 1;
      file = `exports/ten_1/test/exp_${made}.csv`;
    });

    test('a file exists only after its upload is completed, and consists of the parts that the completion names, in order', async () => {
      const { files, text } = tools;
      const uploadId = await files.begin(file);
      const first = await files.part(file, uploadId, 1, LARGE);
      await files.part(file, uploadId, 2, 'of a writer that was taken over');
      const last = await files.part(file, uploadId, 3, 'the end');
      expect(await files.exists(file)).toBe(false);

      expect(await files.end(file, uploadId, [first, last])).toBe(true);

      expect(await files.exists(file)).toBe(true);
      expect((await text(file)) === `${LARGE}the end`).toBe(true);
    });

    test('a completed upload no longer exists, and its file does not change', async () => {
      const { files, text } = tools;
      const uploadId = await files.begin(file);
      const part = await files.part(file, uploadId, 1, 'a');
      expect(await files.end(file, uploadId, [part])).toBe(true);
      await files.end(file, uploadId, [part]);
      await expect(files.part(file, uploadId, 2, 'b')).rejects.toThrow();
      expect(await text(file)).toBe('a');
    });

    test('an upload cannot be completed with the old tag of a part that was overwritten', async () => {
      const { files } = tools;
      const uploadId = await files.begin(file);
      const part = await files.part(file, uploadId, 1, 'a');
      await files.part(file, uploadId, 1, 'b');
      await expect(files.end(file, uploadId, [part])).rejects.toThrow();
    });

    test('a stored text is read back unchanged, and does not create the export file', async () => {
      const { files } = tools;
      expect(await files.kept(`${file}.7`)).toBeUndefined();
      await files.keep(`${file}.7`, 'é,1\r\n');
      expect(await files.kept(`${file}.7`)).toBe('é,1\r\n');
      expect(await files.exists(file)).toBe(false);
    });

    test('an aborted upload creates no file, even when it is aborted twice', async () => {
      const { files } = tools;
      const uploadId = await files.begin(file);
      const part = await files.part(file, uploadId, 1, 'a');
      await files.abort(file, uploadId);
      await files.abort(file, uploadId);
      expect(await files.end(file, uploadId, [part])).toBe(false);
      expect(await files.exists(file)).toBe(false);
    });
  });
}
