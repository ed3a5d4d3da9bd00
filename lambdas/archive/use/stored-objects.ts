/** Read access to the archive's objects. A name is the S3 key of an object. */
export interface StoredObjects {
  /**
   * Lists names in ascending order.
   *
   * @param prefix only names that begin with this prefix
   * @param after only names that sort after this text
   * @param most maximum number
   */
  names(prefix: string, after: string, most: number): Promise<readonly string[]>;
  /**
   * Reads an object.
   * @returns undefined when no object has this name
   */
  text(name: string): Promise<string | undefined>;
}
