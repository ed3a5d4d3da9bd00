/** A failure that the user can fix. Its message is one line with the action to take. */
export class StartFailure extends Error {
  override readonly name = 'StartFailure';
}
