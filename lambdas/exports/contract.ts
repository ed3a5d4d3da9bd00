/** Names that the stacks and the functions of exports share. */

export const ExportsEnvironment = {
  /** The bucket of the files. */
  bucket: 'EXPORTS_BUCKET',
  /** The name of the function that writes exports. */
  writer: 'EXPORT_WRITER',
} as const;

/** The folder of the files in the bucket. */
export const EXPORTS_FOLDER = 'exports/';

/** The bucket removes files after this many days. */
export const FILE_DAYS = 7;

/** Time limit of one execution of the writer. Seconds. */
export const EXPORT_WRITER_TIMEOUT_SECONDS = 300;
/**
 * Time after which the writer begins no further part but starts the next execution. It continues reading for a minute
 * to fill a part. Seconds.
 */
export const EXPORT_WRITER_BEGINS_SECONDS = 120;
