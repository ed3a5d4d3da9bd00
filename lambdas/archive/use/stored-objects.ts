/** The objects of the archive, as readers see them. */
export interface StoredObjects {
  /**
   * Names in ascending order.
   *
   * @param prefix only names that begin with it
   * @param after only names after this text
   * @param most at most so many
   */
  names(prefix: string, after: string, most: number): Promise<readonly string[]>;
  /** @returns undefined when there is no object of this name */
  text(name: string): Promise<string | undefined>;
}
