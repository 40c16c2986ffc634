/**
 * Forms that are sent after the session has rested or ended, at the console and at the desk. After the sign-in a form is
 * shown again as it was, and is not sent automatically. Every form of both sites is tested over HTTP, and some in a real
 * browser.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import type { Page } from 'playwright-core'
import { sql } from '../../service/src/postgres/index.ts'
import { noBrowser as skip } from '../support/browser.ts'
import { textAt } from '../support/client.ts'
import { check, inviteTo, joinByPasskey, useConsole } from '../support/console.ts'
import { joinDesk } from '../support/desk.ts'
import { useService } from '../support/fixture.ts'
import { alsoRested, consoleForms, deskForms } from '../support/kept-forms.ts'
import { staffAtDesk } from '../support/staff.ts'
import { joinByPassword } from '../support/team.ts'
import { createBeneficiary, createCustomer, listAll } from '../support/world.ts'

type Names = Readonly<Record<string, string>>
const typed = 'Typed before "lunch" & <kept>'
const secret = 'hunter2-hunter2'
const escaped = 'Typed before &quot;lunch&quot; &amp; &lt;kept&gt;'

const inPath = (path: string, names: Names) =>
  path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => names[name] ?? randomUUID())

/** Returns the fields of the form that posts to a path, visible and hidden, as a browser would send them. */
function fieldsOf(html: string, pageUrl: URL, path: string) {
  for (const [whole, tag = ''] of html.matchAll(/<form\b([^>]*)>[^]*?<\/form>/g)) {
    const action = /action="([^"]*)"/.exec(tag)?.[1] ?? ''
    if (!/method="post"/.test(tag) || new URL(action, pageUrl).pathname !== path) continue
    const inputs = [...whole.matchAll(/<(?:input|textarea)\b[^>]*>/g)].map(([input]) => input)
    return inputs.flatMap((input) => {
      const [name, type = 'text', value = ''] = ['name', 'type', 'value'].map(
        (each) => new RegExp(`\\b${each}="([^"]*)"`).exec(input)?.[1],
      )
      return name === undefined ? [] : [{ name, type, value }]
    })
  }
  return undefined
}

suite('forms and ended sessions', { skip }, async () => {
  const service = await useService()
  const db = service.connect()
  const { site, browser, person } = useConsole(service, ['404', '413', '400'])
  const payee = textAt(await createBeneficiary(service.client), 'id')
  const customer = textAt(await createCustomer(service.client), 'guid')
  const desk = { opsUrl: service.opsUrl, env: service.env, folder: service.dataDir }
  const rosa = await staffAtDesk(desk, { name: 'Rosa', role: 'admin' })

  const rest = () => db.run(sql`update sign_in.sessions set rested = true`)
  const end = () => db.run(sql`update sign_in.sessions set last_used_at = last_used_at - interval '20 minutes'`)
  const resume = () => db.run(sql`update sign_in.sessions set rested = false, last_used_at = now()`)
  const keptForms = async () =>
    Number((await db.rows<{ count: bigint }>(sql`select count(*) from sign_in.kept_forms`))[0]?.count)

  const signInAgain = (page: Page) => page.getByRole('button', { name: 'Sign in with a passkey' }).click()

  test('the input of a payout form is kept for five idle minutes, and only its button sends it', async () => {
    const { page } = await person('Admin')
    await page.goto(`${site}/console/payouts/new?beneficiaryId=${payee}`)
    await page.getByLabel('Amount').fill('7500')
    await page.getByLabel(/Reference/).fill(typed)
    await rest()
    await page.locator('main form button').first().click()
    await page.waitForURL(/\/console\/sign-in\?/)
    await page.getByText('Your form is kept for 30 minutes, and nothing was sent').waitFor()
    await check(page)
    const before = (await listAll(service.client, '/v1/payouts')).length
    await signInAgain(page)
    await page.waitForURL(/\/console\/payouts\/new\?.*kept=/)
    await check(page)
    assert.match(await page.locator('main').innerText(), /Your form is as you left it\. Nothing was sent/)
    assert.equal(await page.getByLabel('Amount').inputValue(), '7500')
    assert.equal(await page.getByLabel(/Reference/).inputValue(), typed)
    await page.reload()
    assert.equal(await page.getByLabel('Amount').inputValue(), '7500', 'the page may be loaded again')
    assert.equal((await listAll(service.client, '/v1/payouts')).length, before, 'signing in sends nothing')
    await page.getByLabel(/Reference/).fill('INV-7')
    await page.locator('main form button').first().click()
    await page.waitForURL(/payouts\/new\/preview/)
    assert.equal(await keptForms(), 0, 'it is deleted after use')
    await end()
    await page.getByRole('button', { name: /^Send/ }).click()
    await page.waitForURL(/\/console\/sign-in\?/)
    await signInAgain(page)
    await page.waitForURL(/\/console\/payouts\/new\?.*kept=/)
    assert.equal(await page.getByLabel(/Reference/).inputValue(), 'INV-7', 'the preview leads back to its form')
    assert.equal((await listAll(service.client, '/v1/payouts')).length, before)
  })

  test('another person who signs in with the browser sees nothing of the form', async () => {
    const first = await person('Admin')
    await first.page.goto(`${site}/console/payees/${payee}`)
    await first.page.goto(`${site}/console/customers/new`)
    const name = first.page.locator('main input[type=text]').first()
    await name.fill(typed)
    await first.page.evaluate("document.querySelector('main form').noValidate = true")
    await end()
    await first.page.locator('main form button[type=submit]').first().click()
    await first.page.waitForURL(/\/console\/sign-in\?/)
    const next = new URL(first.page.url()).searchParams.get('next') ?? ''
    assert.match(next, /^kept\//)
    await resume()
    const other = await inviteTo(service, 'Admin', 'Grace Hopper')
    await joinByPasskey(service, first.page, other)
    const answer = await first.page.goto(`${site}/console/${next}`)
    assert.equal(answer?.status(), 404)
    assert.match(await first.page.locator('main').innerText(), /This form is no longer kept/)
    assert.ok(!(await first.page.content()).includes('Typed before'))
  })

  test('a chosen file remains chosen, and a form that is too large is refused with a text', async () => {
    const { page } = await person('Admin')
    await page.goto(`${site}/console/checkout/appearance`)
    const svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 0h1v1z"/></svg>'
    const logo = (text: string) => ({ name: 'logo.svg', mimeType: 'image/svg+xml', buffer: Buffer.from(text) })
    await page.locator('input[name=name]').fill(typed)
    await page.locator('input[type=file]').setInputFiles(logo(svg))
    await rest()
    await page.locator('main form button[type=submit]').first().click()
    await page.waitForURL(/\/console\/sign-in\?/)
    await signInAgain(page)
    await page.waitForURL(/appearance\?kept=/)
    assert.equal(await page.locator('input[name=name]').inputValue(), typed)
    assert.equal(await page.evaluate("document.querySelector('input[type=file]').files[0].text()"), svg)
    await page.goto(`${site}/console/bulk-payouts/new`)
    const rows = Array.from({ length: 9000 }, () => `${randomUUID()},1.00,EUR,x`)
    const csv = ['beneficiaryId,amount,currency,reference', ...rows].join('\n')
    await page
      .locator('input[type=file]')
      .first()
      .setInputFiles({ name: 'pay.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) })
    await rest()
    await page.locator('main form button[type=submit]').first().click()
    await page.getByRole('heading', { name: 'You were signed out, and this form is too large to keep' }).waitFor()
    await check(page)
  })

  test('the input of a desk form is kept until after the sign-in', async () => {
    const at = service.opsUrl.replace('127.0.0.1', 'localhost')
    const deskOfRosa = { service, browser: await browser(), site: at, as: rosa.as }
    const { page } = await joinDesk(deskOfRosa, 'Ines', 'admin', ['400', '404'])
    await page.goto(`${at}/desk/staff`)
    await page.locator('form[action$="staff/invite"] input[name=email]').fill('new@example.com')
    await page.locator('form[action$="staff/invite"] input[name=name]').fill(typed)
    await page.evaluate(`document.querySelector('form[action$="staff/invite"]').noValidate = true`)
    await end()
    await page.locator('form[action$="staff/invite"] button[type=submit]').click()
    await page.waitForURL(/\/desk\/sign-in\?next=kept/)
    await signInAgain(page)
    await page.waitForURL(/\/desk\/staff\?kept=/)
    await check(page)
    assert.equal(await page.locator('form[action*="staff/invite"] input[name=name]').inputValue(), typed)
  })

  const { cookie: admin } = await joinByPassword(service, await inviteTo(service, 'Admin', 'Alan Turing'))
  const sites = [
    { name: 'console', base: service.baseUrl, cookie: admin, rows: consoleForms, names: { payee, customer } },
    {
      name: 'desk',
      base: service.opsUrl,
      cookie: rosa.cookie,
      rows: deskForms,
      names: { partner: service.credentials.partnerId },
    },
  ] as const
  for (const { name, base, cookie, rows, names } of sites)
    test(`every form of the ${name} leads to the sign-in when the session has rested or ended, and is kept or not stored`, async () => {
      const device = `__Host-device=${'d'.repeat(43)}`
      const headers = { cookie: `${cookie}; ${device}`, 'sec-fetch-site': 'same-origin' }
      const get = (path: string) => fetch(new URL(path, base), { headers, redirect: 'manual' })
      for (const [pattern, row] of Object.entries(rows)) {
        const isPage = typeof row === 'object' && 'page' in row
        const isKept = typeof row === 'string' || isPage
        // Others need no session, or end it.
        if (!isKept && !/(?:account|approve|device|connect)/.test(pattern)) continue
        await resume()
        const pageUrl = new URL(`/${name}/${isPage ? inPath(row.page, names) : ''}`, base)
        const id = isPage
          ? (/[^/?=]{36}/.exec(row.page.replace(/\{\w+\}/, (key) => inPath(key, names)))?.[0] ?? randomUUID())
          : randomUUID()
        const path = inPath(pattern, { ...names, id })
        const html = isPage ? await (await get(pageUrl.pathname + pageUrl.search)).text() : ''
        const found = fieldsOf(html, pageUrl, path)
        assert.equal(found !== undefined, isPage && row.isNext !== true, `the page of the row has the form: ${path}`)
        const fields = found ?? []
        const text = fields.find(({ type, name: field }) => type === 'text' && !/code|password/i.test(field))
        const given = fields.filter(({ type }) => ['text', 'hidden', 'date', 'email'].includes(type))
        const body = new URLSearchParams(
          given.map(({ name: field, value }) => [field, field === text?.name ? typed : value]),
        )
        if (text === undefined) body.set('extra', typed)
        for (const field of ['password', 'code', 'credential', 'clientSecret', 'nonce']) body.set(field, secret)
        const send = async () => {
          const before = await keptForms()
          const sent = await fetch(new URL(path, base), {
            ...{ method: 'POST', body, redirect: 'manual' },
            headers: { ...headers, ...(isPage && { referer: pageUrl.href }) },
          })
          const location = new URL(sent.headers.get('location') ?? '', new URL(path, base))
          const next = location.searchParams.get('next') ?? ''
          const isStored = next.startsWith('kept/')
          return { to: [sent.status, location.pathname, isStored], next, stored: (await keptForms()) - before }
        }
        await rest()
        const rested = await send()
        // A passer-by at an open browser can end access, and nothing else.
        const back = alsoRested[pattern]
        assert.deepEqual(rested.to, [303, back ?? `/${name}/sign-in`, isKept && back === undefined], `rested: ${path}`)
        await rest()
        await end()
        const { to, next, stored } = await send()
        assert.deepEqual(to, [303, `/${name}/sign-in`, isKept], path)
        if (!isKept) {
          assert.deepEqual([rested.stored, stored], [0, 0], path)
          continue
        }
        await resume()
        const led = await get(`/${name}/${next}`)
        if (!isPage) {
          const shown = led.status === 303 ? await get(new URL(led.headers.get('location') ?? '', led.url).href) : led
          const page = await shown.text()
          assert.ok(page.includes(escaped) || led.status === 303, path)
          assert.ok(!page.includes(secret), path)
          continue
        }
        assert.equal(led.status, 303, path)
        const shown = await get(new URL(led.headers.get('location') ?? '', led.url).href)
        const page = await shown.text()
        assert.ok(page.includes('Your form is as you left it'), path)
        assert.ok(!page.includes(secret), path)
        if (text !== undefined) assert.ok(page.includes(escaped), path)
      }
    })
})
