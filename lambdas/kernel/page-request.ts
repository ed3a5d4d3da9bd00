/**
 * Returns whether a web page sent the request, from Payonce's own origin or any other. Programs other than browsers
 * send neither `Origin` (WHATWG, "Fetch") nor `Sec-Fetch-Site` (W3C, "Fetch Metadata Request Headers"). A browser sends
 * `Sec-Fetch-Site: none` for an address that a person typed, so no page has sent that request.
 */
export function isFromPage(headers: { readonly [name: string]: string | string[] | undefined }): boolean {
  const { origin, 'sec-fetch-site': site = 'none' } = headers;
  return origin !== undefined || site !== 'none';
}
