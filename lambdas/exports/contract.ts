export const ExportsEnvironment = {
  bucket: 'EXPORTS_BUCKET',
  writer: 'EXPORT_WRITER',
} as const;

export const EXPORTS_FOLDER = 'exports/';

/** Number of days after which the bucket removes a file. */
export const FILE_DAYS = 7;

export const EXPORT_WRITER_TIMEOUT_SECONDS = 300;
/**
 * Time after which the writer begins no further part of the file, and starts the next execution instead, in seconds. It
 * may read for up to another minute to fill the current part.
 */
export const EXPORT_WRITER_BEGINS_SECONDS = 120;
