import assert from 'node:assert/strict'
import { test } from 'node:test'
import { html } from '../html.ts'
import { confirmedForm, input, select } from './forms.ts'
import { findForm, pageWithForm } from './form-html.ts'
import { consoleTexts } from './language.ts'

const said = html`<p>as you left it</p>`
const sent = (fields: readonly (readonly [string, string])[], path = '/console/payees/new') => ({
  path,
  fields,
  files: [],
})
const [one, two] = ['019a0000-0000-7000-8000-000000000001', '019a0000-0000-7000-8000-000000000002']

function filled(
  main: { readonly html: string },
  given: ReturnType<typeof sent>,
  pagePath = '/console/payees/new',
): string {
  const page = `<!doctype html><main id="main" tabindex="-1">${main.html}</main>`
  const found = findForm(page, pagePath, given)
  assert.ok(found)
  return pageWithForm(page, found, given, { said, query: 'kept=1' })
}

test('fills in every kind of control, and escapes the input', () => {
  const evil = `"><script>alert('1')</script>`
  const form = html`<form method="post" action="../payees/new">
    <input id="name" name="name" value="before &amp; after" required />
    <input type="checkbox" name="kinds" value="a" checked /><input type="checkbox" name="kinds" value="b" />
    <input type="radio" name="side" value="in" checked /><input type="radio" name="side" value="out" />
    <textarea name="note">before</textarea>
    ${select({
      id: 'c',
      name: 'currency',
      label: 'Currency',
      value: 'EUR',
      options: [
        ['EUR', 'Euro'],
        ['GBP', 'Pound'],
      ],
    })}
    <input type="password" name="password" /><input type="hidden" name="idempotencyKey" value="${one ?? ''}" />
  </form>`
  const fields = [
    ['name', evil],
    ['kinds', 'b'],
    ['side', 'out'],
    ['note', '</textarea>'],
    ['currency', 'GBP'],
    ['password', 'x'],
    ['idempotencyKey', two ?? ''],
  ] as const
  const text = filled(form, sent(fields))
  assert.ok(text.includes('tabindex="-1"><p>as you left it</p>'))
  assert.ok(text.includes('action="../payees/new?kept=1"'))
  assert.ok(text.includes('value="&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;"'), text)
  assert.ok(!text.includes('before') && !text.includes('<script>'))
  assert.match(text, /name="kinds" value="a">/)
  assert.match(text, /name="kinds" value="b" checked="">/)
  assert.match(text, /name="side" value="in">[^]*name="side" value="out" checked="">/)
  assert.ok(text.includes('<textarea name="note">&lt;/textarea&gt;</textarea>'))
  assert.match(text, /value="EUR">Euro[^]*value="GBP" selected="">Pound/)
  assert.ok(text.includes('type="password" name="password" />'), 'a secret stays empty')
  assert.ok(text.includes(`value="${two}"`), 'the key of the form that was sent, so that it has no second effect')
})

test('finds the form of the row that was sent, and not the form of another row', () => {
  const row = (id = '') =>
    html`<form method="post" action="payees/close"><input type="hidden" name="id" value="${id}" /></form>`
  const page = `<main>${row(one).html}${row(two).html}</main>`
  const path = '/console/payees/close'
  const found = findForm(page, '/console/payees', sent([['id', two ?? '']], path))
  assert.equal(found?.start, page.lastIndexOf('<form'))
  assert.equal(
    findForm(page, '/console/payees', sent([['id', '019a0000-0000-7000-8000-000000000003']], path)),
    undefined,
  )
  assert.equal(findForm(page, '/console/other/deep', sent([['id', two ?? '']], path)), undefined, 'another action')
})

test('moves the form of a dialog out of it, without the button that closes it', () => {
  const view = { language: 'en', t: consoleTexts.en, sandbox: true, root: '../', css: '', js: '', brand: {} } as const
  const typed = { values: {}, problems: {} }
  const fields = input(view, typed, { name: 'reason', label: 'Reason' })
  const dialog = confirmedForm(view, {
    ...{ id: 'ask', title: 'Reject?', action: 'new', about: 'x', fields, submit: 'Reject' },
  })
  const text = filled(
    html`<h1>Payout</h1>
      ${dialog}`,
    sent([['reason', 'Twice']]),
  )
  assert.match(text, /as you left it<\/p><section class="card kept">[^]*Reject\?[^]*value="Twice"[^]*<h1>Payout/)
  assert.ok(!text.includes('<dialog') && !text.includes('popovertargetaction'))
})

test('a file input carries the name and the bytes of its file, for the script', () => {
  const form = html`<form method="post" action="new"><input type="file" name="file" required /></form>`
  const files = [{ name: 'file', fileName: 'pay.csv', type: 'text/csv', base64: 'YQ==' }]
  const text = filled(form, { ...sent([]), files } as never)
  assert.match(text, /data-kept-name="pay.csv" data-kept-type="text\/csv" data-kept-content="YQ=="/)
})
