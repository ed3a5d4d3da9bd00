/** Read access to the objects of the archive. */
export interface StoredObjects {
  /**
   * Names in ascending order.
   *
   * @param prefix only names that begin with it
   * @param after only names after this text
   * @param most maximum number
   */
  names(prefix: string, after: string, most: number): Promise<readonly string[]>;
  /** @returns undefined when there is no object of this name */
  text(name: string): Promise<string | undefined>;
}
