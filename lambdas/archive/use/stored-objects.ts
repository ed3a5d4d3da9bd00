/** A name is the S3 key of an object. */
export interface StoredObjects {
  /**
   * Lists names in ascending order.
   *
   * @param after only names that sort after this text
   */
  names(prefix: string, after: string, most: number): Promise<readonly string[]>;
  text(name: string): Promise<string | undefined>;
}
