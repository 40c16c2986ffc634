/** Validation of messages by our own schemas, or by official ones that an operator has. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { memoryPages, validateXML } from 'xmllint-wasm'

type SchemaFile = { readonly fileName: string; readonly contents: string }

export const ownSchemas = fileURLToPath(new URL('../../service/src/iso20022/schemas', import.meta.url))
const shared = new Set(['common.xsd', 'parties.xsd', 'reports.xsd'])
/**
 * A market may publish a restriction of a message, such as the Swiss one of pain.001: with the types of ISO beside its own. The message
 * is then judged by the type of ISO.
 */
function ofIso({ fileName, contents }: SchemaFile): SchemaFile {
  const [element, type = ''] = /<xs:element name="Document" type="([^"]*)"\/>/.exec(contents) ?? []
  const base = new RegExp(
    `<xs:complexType name="${type}">\\s*<xs:complexContent>\\s*<xs:restriction base="([^"]*)">`,
  ).exec(contents)
  return element === undefined || base?.[1] === undefined
    ? { fileName, contents }
    : { fileName, contents: contents.replace(element, element.replace(type, base[1])) }
}

const read = (folder: string, fileName: string): SchemaFile => ({
  fileName,
  contents: readFileSync(join(folder, fileName), 'utf8'),
})

/** Names of messages whose schema the folder has: `pain.001.001.09`. */
export const messagesIn = (folder: string): readonly string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.xsd') && !shared.has(name))
    .map((name) => name.slice(0, -'.xsd'.length))

/** Errors of the documents by the schema of `message`; none: they are valid. */
export async function schemaErrors(
  message: string,
  documents: readonly string[],
  folder: string = ownSchemas,
  by: 'schema' | 'ISO' = 'schema',
): Promise<readonly string[]> {
  const schema = read(folder, `${message}.xsd`)
  const preload = folder === ownSchemas ? [...shared].map((name) => read(folder, name)) : []
  const { errors } = await validateXML({
    xml: documents.map((contents, index) => ({ fileName: `${message}-${index}.xml`, contents })),
    schema: [by === 'ISO' ? ofIso(schema) : schema],
    preload,
    maxMemoryPages: memoryPages.GiB,
  })
  return errors.map(({ rawMessage }) => rawMessage)
}
