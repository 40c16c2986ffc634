/** The beginning of a message in every form that XML permits: it is recognised as it is read. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { chunks, readerOf } from '../../../scripts/iso-documents.ts'
import { recognise } from './index.ts'

const folder = new URL('samples/', import.meta.url)
const samples = readdirSync(folder).filter((name) => name.endsWith('.xml'))
const root = /<((?:[\w.]+:)?Document)\s+([^>]*?)\s*>/
const declaration = /^\s*<\?xml[^>]*\?>/

const withRoot = (text: string, of: (name: string, attributes: string) => string): string =>
  text.replace(root, (_all, name: string, attributes: string) => of(name, attributes))
const split = (attributes: string): readonly string[] => attributes.match(/[\w:]+\s*=\s*(?:"[^"]*"|'[^']*')/g) ?? []
const comment = `<!-- ${'the bank writes a long comment '.repeat(400)} -->`

const forms: Readonly<Record<string, (text: string) => string>> = {
  'CR LF between the attributes': (text) => withRoot(text, (name, attributes) => `<${name}\r\n\t${attributes}\r\n>`),
  'CR LF everywhere': (text) => text.replace(/\r?\n/g, '\r\n').replace(root, (tag) => tag.replaceAll(' ', '\r\n')),
  'CR alone': (text) => text.replaceAll('\n', '\r'),
  'space around the equals sign': (text) =>
    withRoot(text, (name, attributes) => `<${name} ${attributes.replaceAll('=', '\r\n=\t')}>`),
  'attributes in another order': (text) =>
    withRoot(text, (name, attributes) => `<${name}  ${split(attributes).toReversed().join('\r\n')} >`),
  'an attribute before the namespace': (text) =>
    withRoot(text, (name, attributes) => `<${name} id = "1"\r\n${attributes}>`),
  'quotes of the other kind': (text) =>
    withRoot(text, (name, attributes) => `<${name} ${attributes.replaceAll('"', "'")}>`),
  'a long comment and an instruction before it': (text) =>
    `${declaration.exec(text)?.[0] ?? ''}\r\n${comment}<?style a?>${text.replace(declaration, '')}`,
  'a comment within the document': (text) => text.replace(root, (tag) => `${tag}\r\n${comment}`),
  'an element of others first': (text) =>
    text.replace(root, (tag) => `${tag}<x:Head xmlns:x="urn:others"><x:Id/></x:Head>`),
  'an envelope': (text) =>
    `<e:File xmlns:e="urn:others"\r\n><e:Head>${'x'.repeat(100_000).replace(/.{4000}/g, '<e:A>$&</e:A>')}</e:Head>${text.replace(declaration, '')}</e:File>`,
  'a byte order mark': (text) => `\ufeff${text.replace(declaration, '')}`,
}

test('there are samples, each with a root that the forms change', () => {
  assert.ok(samples.length > 10)
  for (const name of samples) assert.match(readFileSync(new URL(name, folder), 'latin1'), root, name)
})

for (const [title, change] of Object.entries(forms))
  test(`${title}: recognised, and read as without`, async () => {
    for (const name of samples) {
      const bytes = readFileSync(new URL(name, folder))
      const text = new TextDecoder(/ISO-8859-1/i.test(bytes.toString('latin1', 0, 200)) ? 'latin1' : 'utf-8').decode(
        bytes,
      )
      const plain = Buffer.from(text.replace(/encoding=(["'])[^"']*\1/, ''))
      const changed = Buffer.from(change(plain.toString()))
      const kind = await recognise(chunks(plain))
      assert.deepEqual(await recognise(chunks(changed, 1000)), kind, name)
      const read = readerOf(kind?.kind)
      assert.ok(read, name)
      assert.deepEqual(await read(chunks(changed, 1000)), await read(chunks(plain)), name)
    }
  })
