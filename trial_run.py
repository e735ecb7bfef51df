"""python run.py NAME [curiax train args...]"""
import sys, time, json, os
name=sys.argv[1]
from curiax import cli
import numpy as np
from curiax.config import *
from curiax import presets
import tyro, dataclasses
import jax
jax.config.update("jax_compilation_cache_dir",".cache/trials")
args=sys.argv[2:]
def setf(c,name,val):
    parts=name.split('.')
    if len(parts)==1:
        old=getattr(c,parts[0]); return dataclasses.replace(c,**{parts[0]:conv(old,val)})
    sub=getattr(c,parts[0]); return dataclasses.replace(c,**{parts[0]:setf(sub,'.'.join(parts[1:]),val)})
def conv(old,val):
    if isinstance(old,bool): return val in('1','True','true')
    if isinstance(old,tuple): return tuple(int(x) for x in val.split('x') if x)
    return type(old)(eval(val)) if isinstance(old,(int,float)) else val
c=LAPTOP
for a in args:
    k,v=a.split('=',1)
    c=setf(c,k,v)
from curiax.train import train
t0=time.time(); out=open(f'trials/{name}.jsonl','w'); acc=[]; t1=None
keys=['trackers','noise_dwell','entropy','error_on_noise','error_elsewhere','contrastive_value','pay_noise','pay_else','pay_newcoin','err_newcoin','share_newcoin','pay_oldcoin','err_oldcoin','share_coin','err_rest','pay_rest','share_r4','pay_noise_r4','pay_r4','dwell_r4']
print(args,os.environ.get('TRIAL'),flush=True)
for row in train(c):
    m=row.metrics; steps=row.num_updates*c.steps_per_update
    m['steps']=steps; out.write(json.dumps({k:float(v) for k,v in m.items()})+'\n'); out.flush()
    if t1 is None: t1=time.time(); s1=steps
    acc.append(m)
    if steps//200000 != (steps-c.steps_per_update*c.log_every)//200000:
        mm={k:np.nanmean([a.get(k,np.nan) for a in acc]) for k in keys}
        sps=(steps-s1)/max(time.time()-t1,1e-9)
        print(f"{steps/1e6:.2f}M trk {mm['trackers']:.2f} dw {mm['noise_dwell']:.2f} H {mm['entropy']:.2f} en {mm['error_on_noise']:.3f} ee {mm['error_elsewhere']:.3f} con {mm['contrastive_value']:.3f} | pay n {mm['pay_noise']:.2f} e {mm['pay_else']:.2f} rest {mm['pay_rest']:.2f} newc {mm['pay_newcoin']:.2f} oldc {mm['pay_oldcoin']:.2f} | err rest {mm['err_rest']:.3f} newc {mm['err_newcoin']:.3f} oldc {mm['err_oldcoin']:.3f} | sh newc {mm['share_newcoin']:.3f} oldc {mm['share_coin']:.2f} r4 {mm['share_r4']:.2f} r4: pay n {mm['pay_noise_r4']:.2f} e {mm['pay_r4']:.2f} dw {mm['dwell_r4']:.2f} | {sps:.0f}/s",flush=True)
        acc=[]

import pickle
pickle.dump(jax.tree.map(lambda x: np.asarray(x) if not jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key) else np.asarray(jax.random.key_data(x)), row.state), open(f'trials/{name}.pkl','wb'))
