/** Reads forms that were sent as `multipart/form-data` (RFC 7578). */

/** More parts than any form of the pages has. */
const partsMax = 32

/** Reads the parts of a form. The first line is the boundary. A form with too many parts or with a NUL in a field counts as empty. */
export async function readFormData(body: Buffer): Promise<FormData> {
  const [, boundary] = /^--([^\r\n]{1,70})\r\n/.exec(body.subarray(0, 80).toString('latin1')) ?? []
  if (boundary === undefined || hasTooManyParts(body, `--${boundary}`)) return new FormData()
  const headers = { 'content-type': `multipart/form-data; boundary="${boundary}"` }
  const form = await new Response(new Uint8Array(body), { headers }).formData().catch(() => new FormData())
  const fields = [...form.values()].filter((value) => typeof value === 'string')
  return fields.some((value) => value.includes('\0')) ? new FormData() : form
}

/** Counts parts before the library creates an object for each: 4 MB can hold 80,000 parts. */
function hasTooManyParts(body: Buffer, delimiter: string): boolean {
  let [count, at] = [0, body.indexOf(delimiter)]
  while (at !== -1 && count <= partsMax + 1) {
    count += 1
    at = body.indexOf(delimiter, at + delimiter.length)
  }
  return count > partsMax + 1
}
