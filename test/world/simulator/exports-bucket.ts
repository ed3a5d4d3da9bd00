import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  HeadObjectCommand,
  NoSuchKey,
  NotFound,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { refused } from '../../archive/memory-s3.ts';
import { MemoryExportFiles } from '../../exports/memory-export-files.ts';

/** Signs without a call to S3. */
const SIGNER = new S3Client({
  region: 'eu-west-1',
  credentials: { accessKeyId: 'simulated', secretAccessKey: 'simulated' },
});

export class ExportsBucket {
  readonly #files = new MemoryExportFiles();

  /** By file name. */
  get texts(): ReadonlyMap<string, string> {
    return this.#files.files;
  }

  client(call: (command: object) => Promise<unknown>): S3Client {
    return Object.create(SIGNER, { send: { value: call } }) as S3Client;
  }

  async answer(command: object): Promise<unknown> {
    const files = this.#files;
    if (command instanceof CreateMultipartUploadCommand)
      return { UploadId: await files.begin(command.input.Key ?? '') };
    if (command instanceof UploadPartCommand) {
      const { Key = '', UploadId = '', PartNumber = 0, Body } = command.input;
      return { ETag: (await files.part(Key, UploadId, PartNumber, Buffer.from(Body as Uint8Array).toString())).etag };
    }
    if (command instanceof CompleteMultipartUploadCommand) {
      const { Key = '', UploadId = '', MultipartUpload: { Parts = [] } = {} } = command.input;
      const parts = Parts.map(({ PartNumber: number = 0, ETag: etag = '' }) => ({ number, etag }));
      if (await files.end(Key, UploadId, parts)) return {};
      throw refused('NoSuchUpload', 404);
    }
    if (command instanceof HeadObjectCommand) {
      if (await files.exists(command.input.Key ?? '')) return {};
      throw new NotFound({ message: 'not there', $metadata: { httpStatusCode: 404 } });
    }
    if (command instanceof PutObjectCommand) {
      await files.keep(command.input.Key ?? '', Buffer.from(command.input.Body as Uint8Array).toString());
      return {};
    }
    if (command instanceof GetObjectCommand) {
      const text = await files.kept(command.input.Key ?? '');
      if (text !== undefined) return { Body: { transformToString: async () => text } };
      throw new NoSuchKey({ message: 'not there', $metadata: { httpStatusCode: 404 } });
    }
    if (command instanceof AbortMultipartUploadCommand) {
      await files.abort(command.input.Key ?? '', command.input.UploadId ?? '');
      return {};
    }
    throw new Error(`the exports bucket does not support ${command.constructor.name}`);
  }
}
