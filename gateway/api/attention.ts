export const attentionKinds = ["crashed","rolled_back","away","weak_signal","often_restarted"] as const;
export interface Attention { readonly kind: (typeof attentionKinds)[number]; readonly since: string | null; readonly seen: boolean; readonly count?: number; readonly reason?: string }
