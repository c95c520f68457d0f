/** Handlers of the account's policy on sign-in and applications, and of its branding. For administrators. */
import type { AccountPolicy } from '../../core/accounts/policy.ts'
import { saveBranding } from '../../flows/accounts/branding.ts'
import { readPolicy, type ShownPolicy, savePolicy } from '../../flows/accounts/policy.ts'
import { type BrandingModel, brandingPage, STANDARD_COLOUR } from '../../pages/accounts/branding.tsx'
import { type PolicyModel, policyPage } from '../../pages/accounts/policy.tsx'
import { rewritePicture } from '../../pictures/picture.ts'
import type { PageHandler, UserRequest } from '../web/answer.ts'
import { checkedNames } from '../web/fields.ts'

export const showPolicy: PageHandler<UserRequest> = async (context, request) => {
  const shown = await readPolicy(context, request.account.id)
  return shown ? { page: policy(request, shown, shown.policy, null) } : { refusal: 'not_found' }
}

export const changePolicy: PageHandler<UserRequest> = async (context, request) => {
  const { account, sessionUser, fields } = request
  const wanted: AccountPolicy = {
    deviceFlow: fields.has('device_flow'),
    unverifiedPublishers: fields.has('unverified_publishers'),
    onlyApplications: fields.has('only') ? checkedNames(fields, 'application') : null,
    secondFactor: fields.has('second_factor') ? 'required' : 'optional',
  }
  const { outcome } = await savePolicy(context, sessionUser.id, wanted, fields.get('add')?.trim() || null)
  if (outcome === 'saved') return { seeOther: '/account/policy?notice=saved' }
  const shown = outcome === 'unknown' ? await readPolicy(context, account.id) : null
  return shown ? { page: policy(request, shown, wanted, 'unknown'), status: 400 } : { refusal: 'forbidden' }
}

/** `wanted`: the policy in force, or one that was submitted and could not be saved. */
function policy(
  { fields, frame }: UserRequest,
  shown: ShownPolicy,
  wanted: AccountPolicy,
  problem: PolicyModel['problem'],
): string {
  return policyPage(frame, {
    deviceFlow: wanted.deviceFlow,
    unverifiedPublishers: wanted.unverifiedPublishers,
    only: wanted.onlyApplications !== null,
    secondFactor: frame.user?.operator ? 'always' : wanted.secondFactor,
    applications: shown.applications.map((application) => ({
      ...application,
      allowed: wanted.onlyApplications?.includes(application.id) ?? false,
    })),
    add: fields.get('add') ?? '',
    problem,
    saved: fields.get('notice') === 'saved',
  })
}

export const showBranding: PageHandler<UserRequest> = async (_context, request) => ({
  page: branding(request, { saved: request.fields.get('notice') === 'saved' }),
})

export const changeBranding: PageHandler<UserRequest> = async (context, request) => {
  const { account, sessionUser, fields, file } = request
  const name = fields.get('name') ?? ''
  const chosen = fields.get('colour') ?? STANDARD_COLOUR
  // A colour input cannot be empty, so its default value counts as no choice.
  const colour = fields.has('default_colour') || chosen === STANDARD_COLOUR ? null : chosen
  const uploaded = file && (await rewritePicture(file))
  if (uploaded && 'problem' in uploaded) {
    return { page: branding(request, { name, colour, problem: uploaded.problem }), status: 400 }
  }
  const logo = uploaded?.picture ?? (fields.has('remove_logo') ? null : undefined)
  const { outcome } = await saveBranding(context, sessionUser.id, { name, colour, logo })
  if (outcome === 'forbidden') return { refusal: 'forbidden' }
  if (outcome === 'saved') return { seeOther: '/account/branding?notice=saved' }
  const shown = outcome === 'colour' ? account.colour : colour
  const problem = outcome === 'logo' ? ({ kind: 'bytes' } as const) : outcome
  return { page: branding(request, { name, colour: shown, problem }), status: 400 }
}

function branding({ account, frame }: UserRequest, about: Partial<BrandingModel>): string {
  return brandingPage(frame, {
    name: account.name,
    colour: account.colour,
    logo: frame.account?.logo ?? null,
    problem: null,
    saved: false,
    ...about,
  })
}
