/** The brand of a partner in the PDF of its reports. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { deflateSync } from 'node:zlib'
import { addPartner, type Service } from '../../../test/support/composition.ts'
import { png } from '../../../test/support/png.ts'
import { createReportService, dayBefore, now, written } from '../../../test/support/reports.ts'

let service: Service
before(async () => {
  service = await createReportService()
})
after(() => service.close())

/** The bytes of the same empty statement, with the branding that is given. */
async function statementWith(branding: Parameters<Service['checkout']['setBranding']>[1] | undefined) {
  const { partnerId } = await addPartner(service)
  if (branding !== undefined) await service.checkout.setBranding(partnerId, branding)
  const to = now(service)
  const period = { from: dayBefore(to), to }
  const request = { kind: 'statement', format: 'pdf', currency: 'EUR', ...period } as const
  const files = [await written(service, partnerId, request), await written(service, partnerId, request)]
  assert.equal(new Set(files.map(({ report }) => report.sha256)).size, 1, 'the same input gives the same bytes')
  return files[0]?.text ?? ''
}
const hasImage = (pdf: string) => pdf.includes('/Subtype /Image')

test('a statement has the logo of the partner, with and without transparency', async () => {
  assert.equal(hasImage(await statementWith(undefined)), false)
  for (const logo of [png(400, 40), png(20, 300, { alpha: true })])
    assert.equal(
      hasImage(await statementWith({ name: 'Grace', accentColour: '#7a1f3d', logo: logo.toString('base64') })),
      true,
    )
})

test('a logo that cannot be drawn is left out, and the report is ready', async () => {
  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0h9v9z"/></svg>')
  const notCompressed = png(4, 4, { alpha: true, pixels: Buffer.from('no pixels') })
  const tooShort = png(4, 4, { alpha: true, pixels: deflateSync(Buffer.alloc(3)) })
  const unknownFilter = png(1, 1, { pixels: deflateSync(Buffer.from([9, 0, 0, 0])) })
  for (const logo of [svg, notCompressed, tooShort, unknownFilter])
    assert.equal(hasImage(await statementWith({ name: 'Grace', logo: logo.toString('base64') })), false)
})
