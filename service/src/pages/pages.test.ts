import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { type BodyOf, permissions, rawNumber } from '@partner-payments/wire'
import qrcode from 'qrcode'
import { createTestService, type Service } from '../../../test/support/composition.ts'
import type { PublicRequest } from '../kernel/api/index.ts'
import type { Brand } from '../branding/index.ts'
import { newId } from '../kernel/index.ts'
import { createCheckout, epcText } from '../checkout/index.ts'
import { processBankNotifications } from '../banks/settlement/index.ts'
import { html } from './html.ts'
import { fill, chooseLanguage, languages, texts } from './language.ts'
import { groupInFours, pageState } from './payment-page.ts'
import { createPageHosts } from './hosts.ts'
import { createCheckoutSite } from './site.ts'

const placeholders = (text: string) => (text.match(/\{\w+\}/g) ?? []).toSorted()

test('every language has every text, with the same placeholders, and translates it', () => {
  const keys = Object.keys(texts.en) as (keyof typeof texts.en)[]
  for (const language of languages) {
    assert.deepEqual(Object.keys(texts[language]).toSorted(), keys.toSorted())
    for (const key of keys) {
      assert.notEqual(texts[language][key].trim(), '', `${language}.${key}`)
      // `{payee}` may be said once where English says it twice.
      assert.deepEqual(
        new Set(placeholders(texts[language][key])),
        new Set(placeholders(texts.en[key])),
        `${language}.${key}`,
      )
    }
    const same = keys.filter((key) => texts[language][key] === texts.en[key])
    if (language !== 'en') assert.ok(same.length <= 3, `${language}: ${same.join()}`)
  }
})

test("the language is the chosen one, then the browser's first supported language by quality", () => {
  const cases = [
    ['lt', 'de', 'lt'],
    ['xx', 'de', 'de'],
    [null, 'fr-CA,fr;q=0.9,en;q=0.8', 'fr'],
    [null, 'en;q=0.5, es;q=0.7', 'es'],
    [null, 'de;q=0, fr;q=0.1', 'fr'],
    [null, 'ja, zh;q=0.9', 'en'],
    [null, 'DE', 'de'],
    [null, 'de;q=nonsense', 'en'],
    [null, '*', 'en'],
    [null, ';;;,,,q=1', 'en'],
    [null, undefined, 'en'],
  ] as const
  for (const [chosen, header, language] of cases)
    assert.equal(chooseLanguage(chosen, header), language, `${chosen} ${header}`)
})

test('a template escapes every text, also in attributes, and keeps HTML', () => {
  const evil = `"><script>alert('1')</script>&`
  const { html: text } = html`<p title="${evil}">
    ${evil}${html`<b>${'x'}</b>`}${false}${undefined}${[html`<i></i>`]}
  </p>`
  const escaped = '&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;'
  assert.equal(text.replaceAll(/\n\s*/g, ''), `<p title="${escaped}">${escaped}<b>x</b><i></i></p>`)
  assert.equal(fill('{a} {b}', { a: '$&' }), '$& {b}')
  assert.equal(groupInFours('DE89370400440532013000'), 'DE89 3704 0044 0532 0130 00')
})

let service: Service
let evilPartner: string
before(async () => {
  service = await createTestService()
  evilPartner = await service.db.transaction((tx) => service.access.createPartner(tx, evil, newId()))
})
after(() => service.close())

const evil = `<img src=x onerror="alert('1')">`

/** A session of a partner with a hostile name, and its page. */
async function openSession(fields: Partial<BodyOf<'createCheckoutSession'>> = {}) {
  const caller = { partnerId: evilPartner, serviceAccountId: newId(), name: 'Test account', permissions }
  const body = {
    amount: rawNumber('49.90'),
    currency: 'EUR',
    idempotencyKey: newId(),
    customer: { email: 'a@example.com' },
  }
  const { session } = await service.checkout.create(caller, { ...body, ...fields })
  return { session, page: new URL(session.url).pathname, token: session.url.split('/').at(-1) ?? '' }
}

/** Checkouts with and without a bank page for payers. */
const checkouts = () => ({
  sandbox: service.checkout,
  production: createCheckout({
    ...service,
    ...{ bank: undefined, sandbox: false, publicUrl: 'https://pay.example.com', pageUrls: new Map() },
  }),
})

type RequestFields = Partial<Omit<PublicRequest, 'params'>> & {
  readonly method?: 'GET' | 'POST'
  readonly brand?: Brand
}

async function send(
  path: string,
  { method = 'GET', brand = {}, ...given }: RequestFields = {},
  mode: 'sandbox' | 'production' = 'sandbox',
) {
  const { clock } = service
  const { routes } = await createCheckoutSite({
    checkout: checkouts()[mode],
    clock,
    sandbox: mode === 'sandbox',
    brand,
    hosts: createPageHosts({ pageUrls: new Map(), publicUrl: undefined }),
  })
  const parts = path.split('/')
  const route = routes.find((each) => {
    const wanted = each.path.split('/')
    return (
      each.method === method &&
      wanted.length === parts.length &&
      wanted.every((part, at) => part.startsWith('{') || part === parts[at])
    )
  })
  assert.ok(route, path)
  const params = Object.fromEntries(
    route.path.split('/').flatMap((part, at) => (part.startsWith('{') ? [[part.slice(1, -1), parts[at] ?? '']] : [])),
  )
  const answer = await route.handle({
    path,
    query: '',
    headers: {},
    body: Buffer.alloc(0),
    requestId: newId(),
    ip: '203.0.113.7',
    ...given,
    params,
  })
  return { ...answer, text: answer.body.toString() }
}

test('the page escapes the payee name and the return URL, and its policy forbids inline and foreign content', async () => {
  const { page, session } = await openSession({ returnUrl: 'https://shop.example.com/?a="><b>' })
  const { status, headers, text } = await send(page)
  assert.equal(status, 200)
  assert.ok(!text.includes('<img'))
  assert.ok(text.includes('&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;'))
  assert.ok(text.includes(`href="https://shop.example.com/?a=&quot;&gt;&lt;b&gt;&amp;sessionId=${session.id}"`))
  const directives = headers['content-security-policy']?.split('; ') ?? []
  for (const directive of ["default-src 'none'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"])
    assert.ok(directives.includes(directive), directive)
  assert.ok(!/unsafe|http|\*/.test(headers['content-security-policy'] ?? ''))
  assert.ok(!/ style=| on\w+="/.test(text.replaceAll('&quot;', '')), 'nothing inline')
})

test('a page for dollars in production has no bank form, no QR code and no sandbox banner', async () => {
  const { page } = await openSession({ currency: 'USD' })
  const { text } = await send(page, {}, 'production')
  assert.ok(!text.includes('<form'))
  assert.ok(!text.includes('class="qr"'))
  assert.ok(!text.includes('class="band"'))
  assert.ok(text.includes('$49.90'))
  const { headers } = await send(`${page}/pay`, { method: 'POST' }, 'production')
  assert.match(headers['location'] ?? '', /^\.\.\//)
})

test('for pounds the page has sort code and account number, and for dollars it states the kind of transfer', async () => {
  const { session, page } = await openSession({ currency: 'GBP' })
  const { text } = await send(page)
  const [sortCode, account] = [session.iban.slice(8, 14), session.iban.slice(14)]
  assert.ok(text.includes(`<span class="code">${sortCode.replaceAll(/(..)(?=.)/g, '$1-')}</span`))
  assert.ok(text.includes(`data-copy="${sortCode}"`))
  assert.ok(text.includes(`data-copy="${account}"`))
  assert.ok(!text.includes(session.iban))
  assert.ok(!text.includes(texts.en.abroadText))
  const dollars = await openSession({ currency: 'USD' })
  const { text: abroad } = await send(dollars.page)
  assert.ok(abroad.includes(texts.en.abroadText))
  assert.ok(abroad.includes(`data-copy="${dollars.session.iban}"`))
})

test('the QR code of the page contains the transfer according to EPC069-12', async () => {
  const { session, page } = await openSession()
  const { text } = await send(page)
  const epc = epcText({ ...session, accountHolder: evil }) ?? ''
  const { size, data } = qrcode.create(epc, { errorCorrectionLevel: 'M' }).modules
  const drawn = new Set<string>()
  const path = / d="(M[^"]+)"/.exec(text.slice(text.indexOf('fill="#000"')))?.[1] ?? ''
  for (const [, x, y, width] of path.matchAll(/M(\d+) (\d+)h(\d+)v1/g))
    for (let at = 0; at < Number(width); at += 1) drawn.add(`${Number(x) - 4 + at} ${Number(y) - 4}`)
  const dark = [...data].flatMap((module, at) => (module ? [`${at % size} ${Math.floor(at / size)}`] : []))
  assert.deepEqual(drawn, new Set(dark))
})

test('an unchanged status is answered with 304 and without a body', async () => {
  const { page, token } = await openSession()
  const first = await send(`${page}/status`)
  assert.equal(first.status, 200)
  assert.deepEqual(JSON.parse(first.text), { status: 'Open', state: pageState(await service.checkout.payment(token)) })
  const etag = first.headers['etag'] ?? ''
  const again = await send(`${page}/status`, { headers: { 'if-none-match': etag } })
  assert.deepEqual([again.status, again.text], [304, ''])
  await service.checkout.begin(token, '203.0.113.7', 'FR')
  const changed = await send(`${page}/status`, { headers: { 'if-none-match': etag } })
  assert.equal(changed.status, 200)
})

test('the pages of the sandbox bank are shown only while the payer may decide', async () => {
  const { page, token, session } = await openSession()
  const bank = async (mode: 'sandbox' | 'production' = 'sandbox') => send(`${page}/bank`, {}, mode)
  assert.equal((await bank()).headers['location'], `../${token}`)
  await service.checkout.begin(token, '203.0.113.7', 'FR')
  assert.match((await bank()).text, /Sandbox Bank, France/)
  assert.equal((await bank('production')).headers['location'], `../${token}`)
  await service.checkout.expire(evilPartner, session.id)
  assert.equal((await bank()).headers['location'], `../${token}`)
})

test('a name without letters, with control characters or of more than 70 characters is refused with the form', async () => {
  const { page, token } = await openSession()
  await service.checkout.begin(token, '203.0.113.7', 'FR')
  const signIn = async (name: string) => {
    const body = Buffer.from(new URLSearchParams({ name }).toString())
    return (await send(`${page}/bank/sign-in`, { method: 'POST', body })).headers['location']
  }
  for (const wrong of ['', '   ', 'a\u0000b', 'x'.repeat(71)]) assert.equal(await signIn(wrong), '../bank?name=wrong')
  const { status, text } = await send(`${page}/bank`, { query: 'name=wrong' })
  assert.equal(status, 400)
  assert.match(text, /aria-invalid="true"/)
  for (const right of ['Ada', 'Å. 王', 'x'.repeat(70)]) assert.equal(await signIn(right), '../bank')
  assert.ok((await send(`${page}/bank`)).text.includes('x'.repeat(70)))
})

test('a file is sent in an encoding that the browser accepts, and an unknown file name is not found', async () => {
  const { page } = await openSession()
  const { text } = await send(page)
  const name = /assets\/([^"]+\.css)"/.exec(text)?.[1] ?? ''
  const plain = await send(`/checkout/assets/${name}`)
  const zipped = await send(`/checkout/assets/${name}`, { headers: { 'accept-encoding': 'gzip, br;q=0' } })
  assert.equal(zipped.headers['content-encoding'], 'gzip')
  assert.equal(gunzipSync(zipped.body as Buffer).toString(), plain.text)
  for (const wrong of ['checkout.css', '..', `${name}x`, 'constructor'])
    assert.equal((await send(`/checkout/assets/${wrong}`)).status, 404, wrong)
})

test('the brand of the installation is on the page, and its files cannot run a script', async () => {
  const bytes = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0h9v9z"/></svg>')
  const brand = { name: evil, logo: { bytes, type: 'image/svg+xml' }, accent: { light: '#7a1f3d' } } as const
  const { page } = await openSession()
  const { text } = await send(page, { brand })
  const [, css = ''] = /href="(assets\/brand\.[0-9a-f]{16}\.css)"/.exec(text) ?? []
  const [, logo = ''] = /src="(assets\/logo\.[0-9a-f]{16}\.svg)"/.exec(text) ?? []
  assert.ok(!text.includes(evil))
  const sheet = await send(`/checkout/${css}`, { brand })
  assert.equal(sheet.headers['content-type'], 'text/css; charset=utf-8')
  assert.match(sheet.text, /--accent: light-dark\(#7a1f3d, #[0-9a-f]{6}\)/)
  const image = await send(`/checkout/${logo}`, { brand })
  assert.equal(image.headers['content-type'], 'image/svg+xml')
  assert.equal(image.headers['content-security-policy'], "default-src 'none'; sandbox")
  assert.equal(image.headers['x-content-type-options'], 'nosniff')
  assert.equal(image.text, bytes.toString())
  assert.equal((await send(`/checkout/${logo}`)).status, 404)
})

test('the page and the receipt show the items and the seller, and link back to the shop with the session id', async () => {
  const logo = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')
  await service.checkout.setBranding(evilPartner, {
    name: `"${evil}`,
    accentColour: '#7a1f3d',
    logo: logo.toString('base64'),
  })
  const lineItems = [{ name: evil, quantity: 3, amount: rawNumber('49.90') }]
  const returnUrl = 'https://shop.example.com/?order=%34%32&other#end'
  const { page, session, token } = await openSession({ description: evil, lineItems, returnUrl })
  const { text } = await send(page)
  assert.ok(!text.includes('<img src=x'))
  assert.match(text, /<th scope="row">&lt;img[^]*<td>3<\/td>[^]*€49\.90/)
  assert.ok(text.includes(`?order=%34%32&amp;other&amp;sessionId=${session.id}#end"`))
  assert.match(text, new RegExp(`href="${token}/accent\\.css\\?v=\\d+"`))
  const image = await send(`/checkout/${token}/logo`)
  assert.deepEqual([image.text, image.headers['content-type']], [logo.toString(), 'image/svg+xml'])
  assert.equal(image.headers['content-security-policy'], "default-src 'none'; sandbox")
  assert.match((await send(`/checkout/${token}/accent.css`)).text, /--accent: light-dark\(#7a1f3d, /)
  for (const form of ['receipt', 'receipt.pdf'])
    await assert.rejects(send(`/checkout/${token}/${form}`), { code: 'not_found' })
  await service.checkout.begin(token, '203.0.113.7', 'DE')
  await service.checkout.signIn(token, 'Ada')
  await service.checkout.decide(token, 'approved')
  service.clock.advance(60_000)
  while ((await processBankNotifications(service.settlement)) > 0);
  const receipt = await send(`/checkout/${token}/receipt`)
  assert.match(receipt.text, /Paid on[^]* UTC[^]*Reference[^]*RF/)
  assert.doesNotMatch(receipt.text, /Refunds/)
  const refund = { amount: rawNumber('9.90'), idempotencyKey: session.id, reason: 'Secret reason' }
  const caller = { partnerId: evilPartner, serviceAccountId: newId(), name: 'Test account', permissions }
  await service.checkout.refund(caller, session.id, refund, '203.0.113.7')
  const refunded = (await send(`/checkout/${token}/receipt`)).text
  assert.match(refunded, /Refunds[^]*On its way to the account that paid[^]*<time datetime="[^]*€9\.90/)
  assert.doesNotMatch(refunded, /Secret reason/)
  const file = await send(`/checkout/${token}/receipt.pdf`)
  assert.deepEqual([file.status, file.headers['content-type']], [200, 'application/pdf'])
  assert.match(file.text, /^%PDF-1\.7/)
  assert.match((await send(page)).text, new RegExp(`href="${token}/receipt"`))
  await service.checkout.setBranding(evilPartner, { name: null, accentColour: null, logo: null })
})
