/** The verbs of a partner's branding: the name, the colours and the logo that its payment pages show. */
import type { BodyOf } from '@partner-payments/wire'
import { contrastProblem, digestOfLogo, drawnLogo, drawnPixelsMax, readColour, readLogo } from '../branding/index.ts'
import { refuseField } from '../kernel/api/index.ts'
import type { DocumentBrand } from '../typesetting/index.ts'
import { present } from '../kernel/index.ts'
import type { CheckoutDeps } from './deps.ts'
import * as store from './store.ts'

export type Appearance = {
  /** Everything is null if the partner has set nothing. */
  readonly branding: (partnerId: string) => Promise<store.Branding>
  /** The brand for documents. Undefined if the partner has set nothing. */
  readonly documentBrand: (partnerId: string) => Promise<DocumentBrand | undefined>
  /** Merges the given fields. Refuses: validation_failed (/logo), contrast_too_low. */
  readonly setBranding: (partnerId: string, given: BodyOf<'setCheckoutBranding'>) => Promise<store.Branding>
}

export function createAppearance({ db, clock }: Pick<CheckoutDeps, 'db' | 'clock'>): Appearance {
  const drawing = new Map<string, Promise<Uint8Array | null>>()
  /** Draws a logo that a version before has stored. The documents that wait meanwhile share the work. */
  const drawOnce = (partnerId: string, logo: Uint8Array): Promise<Uint8Array | null> => {
    const draw = async () => {
      const made = await drawnOf(logo)
      await store.keepDrawnLogo(db, partnerId, made)
      return made.drawn
    }
    const work = drawing.get(partnerId) ?? draw().finally(() => drawing.delete(partnerId))
    drawing.set(partnerId, work)
    return work
  }
  return {
    branding: async (partnerId) => (await store.brandingOf(db, partnerId)) ?? store.noBranding,
    documentBrand: async (partnerId) => {
      const branding = await store.documentBrandOf(db, partnerId)
      if (branding === undefined) return undefined
      const { name, colour, drawn, logo } = branding
      const shown = logo === null ? drawn : await drawOnce(partnerId, logo)
      return { name: name ?? undefined, accent: colour ?? undefined, logo: shown ?? undefined }
    },
    setBranding: async (partnerId, { name, accentColour, accentColourDark, logo }) => {
      const change = {
        name,
        colour: readAccent('accentColour', accentColour),
        colourDark: readAccent('accentColourDark', accentColourDark),
        logo: typeof logo === 'string' ? await readLogoText(logo) : logo,
      }
      return store.mergeBranding(db, partnerId, change, clock.now())
    },
  }
}

const themes = { accentColour: 'light', accentColourDark: 'dark' } as const

function readAccent(field: keyof typeof themes, given: string | null | undefined): string | null | undefined {
  if (given === null || given === undefined) return given
  const colour = present(readColour(given), 'the schema has the form of colours')
  const message = contrastProblem(colour, themes[field])
  if (message === undefined) return colour
  throw refuseField({ pointer: `/${field}`, code: 'invalid_value', message }, 'contrast_too_low')
}

async function readLogoText(text: string) {
  const refused = (message: string) => refuseField({ pointer: '/logo', code: 'invalid_format', message })
  const bytes = Buffer.from(text, 'base64')
  if (bytes.toString('base64') !== text) throw refused('must be Base64 (RFC 4648, section 4)')
  const logo = readLogo(bytes, drawnPixelsMax)
  if (typeof logo === 'string') throw refused(logo)
  return { ...logo, ...(await drawnOf(bytes)) }
}

const drawnOf = async (logo: Uint8Array): Promise<store.DrawnLogo> => ({
  drawn: (await drawnLogo(logo)) ?? null,
  from: digestOfLogo(logo),
})
