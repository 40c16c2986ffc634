/** Reads forms that were sent as `multipart/form-data` (RFC 7578). */

/** Parts of a form of ours, and some that a browser adds. */
const partsMax = 32

/** The parts of such a form with their bytes. The first line is the boundary. Empty also for one with more parts, or with a NUL in a field. */
export async function readFormData(body: Buffer): Promise<FormData> {
  const [, boundary] = /^--([^\r\n]{1,70})\r\n/.exec(body.subarray(0, 80).toString('latin1')) ?? []
  if (boundary === undefined || hasTooManyParts(body, `--${boundary}`)) return new FormData()
  const headers = { 'content-type': `multipart/form-data; boundary="${boundary}"` }
  const form = await new Response(new Uint8Array(body), { headers }).formData().catch(() => new FormData())
  const fields = [...form.values()].filter((value) => typeof value === 'string')
  return fields.some((value) => value.includes('\0')) ? new FormData() : form
}

/** Counted before the library makes an object of each: 4 MB hold 80,000 parts. */
function hasTooManyParts(body: Buffer, delimiter: string): boolean {
  let [count, at] = [0, body.indexOf(delimiter)]
  while (at !== -1 && count <= partsMax + 1) {
    count += 1
    at = body.indexOf(delimiter, at + delimiter.length)
  }
  return count > partsMax + 1
}
